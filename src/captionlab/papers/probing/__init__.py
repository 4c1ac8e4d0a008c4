"""Ma et al. 2022 (probing): properties of captions that scorers reward when captioners are trained on them."""
