"""Scorers: models that score how well a caption matches an image, one family in each module, and their storage."""
