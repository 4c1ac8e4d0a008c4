"""Several finished runs side by side: one static site with their numbers, captions, parameters and training curves."""
