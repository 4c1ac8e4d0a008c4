"""ROSITA (Cui et al. 2021): one BERT over the words and the regions of an image."""
