"""An answerer that looks for the words of the options in a caption."""
