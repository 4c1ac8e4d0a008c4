"""BLIP's vision tower as encoder: a ViT whose places, the class token's included, its text decoder reads."""
