"""The share of the questions about an image that a caption answers correctly."""
