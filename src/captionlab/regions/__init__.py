"""Regions of images, from files or from a detector that the workflow runs, and tags of objects."""
