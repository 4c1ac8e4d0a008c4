"""Judges: models behind servers that score captions. Their questions, and how their answers are read."""
