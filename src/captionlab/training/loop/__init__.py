"""The loop: one trainer, its batches, optimizer, checkpoints and validation."""
