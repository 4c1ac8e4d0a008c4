"""Scores of captions by judges, models behind servers, with the names that the config gives."""
