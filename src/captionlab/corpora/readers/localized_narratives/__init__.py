"""Localized Narratives."""
