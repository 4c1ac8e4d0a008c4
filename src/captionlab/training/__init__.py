"""Training: one trainer for every objective, with checkpoints that survive a kill at any moment."""
