"""Likeness to the references of the image: BLEU-4."""
