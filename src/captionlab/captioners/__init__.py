"""Captioners: models that write captions for images, one module per family, and how captioners are stored."""
