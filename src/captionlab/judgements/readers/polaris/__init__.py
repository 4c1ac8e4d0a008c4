"""Polaris (Wada et al. 2024): captions by people and by ten systems, each with the rating of a person."""
