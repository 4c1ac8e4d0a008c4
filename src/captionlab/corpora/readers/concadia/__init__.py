"""Concadia."""
