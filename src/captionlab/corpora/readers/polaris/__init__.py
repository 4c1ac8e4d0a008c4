"""Polaris (Wada et al. 2024): images with references, in the files of its judgements."""
