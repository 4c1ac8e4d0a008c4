"""Fluency in the language of all references."""
