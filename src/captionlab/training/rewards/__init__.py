"""Rewards: what makes a caption good, one module each."""
