"""An answerer that is a model behind a server."""
