"""Metrics that external commands compute, each in an environment of its own, with the names that the config gives."""
