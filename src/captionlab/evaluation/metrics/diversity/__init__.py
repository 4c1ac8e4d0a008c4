"""Diversity of captions, over images and within an image, and novelty: what the captioner was not shown in training."""
