"""DOCCI."""
