"""Live tracking of trainings in TensorBoard: curves, and captions of a few images. No result depends on it."""
