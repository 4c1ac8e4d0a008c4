"""The similarity of a caption to its image."""
