"""Ma et al. 2022 (probing): what scorers reward when captioners are trained on them."""
