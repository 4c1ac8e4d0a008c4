"""Crossmodal-3600: captions of 3,600 images in 36 languages."""
