"""Winoground (Thrush et al. 2022): two images and two captions with the same words in another order."""
