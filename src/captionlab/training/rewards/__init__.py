"""Rewards of captions, one kind in each module."""
