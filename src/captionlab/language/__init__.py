"""Measures of the language of captions: fluency, parts of speech, patterns, and associations."""
