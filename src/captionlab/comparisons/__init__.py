"""Comparisons of captioners: a served model says which of two captions is better, and captioners are ranked."""
