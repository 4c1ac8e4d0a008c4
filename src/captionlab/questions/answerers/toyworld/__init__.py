"""An answerer that understands the language of the toy world."""
