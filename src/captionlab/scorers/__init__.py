"""Scorers: models that say how well a caption matches an image, one module per family, and how they are stored."""
