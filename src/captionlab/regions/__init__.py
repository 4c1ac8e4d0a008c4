"""Regions: what a detector found in images, from files or by a detector of our own, and tags of objects."""
