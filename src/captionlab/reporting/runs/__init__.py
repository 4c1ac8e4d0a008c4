"""Measured values and differences of a run, and published numbers."""
