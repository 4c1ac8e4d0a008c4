"""One of several rewards in each update, in turn."""
