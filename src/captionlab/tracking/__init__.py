"""Trainings that can be watched: curves, and captions of a few images, in TensorBoard or Trackio. No result asks it."""
