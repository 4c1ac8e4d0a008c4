"""Composite (Hodosh et al. 2013): captions and whether a crowd says that they describe an image."""
