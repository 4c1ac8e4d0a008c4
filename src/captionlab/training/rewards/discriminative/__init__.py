"""The log-probability of the image in a softmax over the candidates, by the caption (Dessì et al. 2023, section 3)."""
