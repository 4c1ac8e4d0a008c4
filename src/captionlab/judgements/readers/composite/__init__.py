"""Composite (Hodosh et al. 2013): captions of which a crowd said whether they describe an image."""
