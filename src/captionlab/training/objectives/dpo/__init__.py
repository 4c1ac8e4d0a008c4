"""Direct preference optimisation: the better of two captions of an image is preferred."""
