"""Training: one trainer for all objectives, with checkpoints that survive a kill at any moment."""
