"""Questions in a JSON-lines file of the user's own."""
