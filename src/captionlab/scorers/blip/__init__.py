"""BLIP (Li et al. 2022) with its head for image-text matching, the class of transformers; it reads pixels."""
