"""CIDEr-D (Vedantam et al. 2015) of many captions against references whose n-grams were counted once."""
