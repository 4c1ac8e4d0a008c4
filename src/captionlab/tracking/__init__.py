"""Trainings that can be watched in TensorBoard: curves, and captions of a few images. No result depends on it."""
