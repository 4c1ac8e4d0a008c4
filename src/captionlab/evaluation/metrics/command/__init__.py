"""Metrics that are commands of others, each in an environment of its own; their names in the config are printed."""
