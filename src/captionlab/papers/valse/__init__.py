"""Parcalabescu et al. 2022 (valse): how models tell captions from foils, by linguistic phenomenon."""
