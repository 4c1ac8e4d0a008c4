"""Captioners: models that give an image a text, one module per family, and how they are stored."""
