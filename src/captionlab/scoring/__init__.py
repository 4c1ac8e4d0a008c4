"""Scores of captions against references, and tests between captions, without the workflow."""
