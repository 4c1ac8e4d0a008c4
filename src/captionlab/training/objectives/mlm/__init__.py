"""Masked language modelling: the captioner learns to tell the words of a reference that are hidden from it."""
