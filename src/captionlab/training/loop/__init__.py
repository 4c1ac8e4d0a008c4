"""Training loop: the trainer with its batches, optimizers, checkpoints and validation."""
