"""Live tracking of trainings: curves, and captions of a few images. No result depends on it.

Each program that can be named under `tracking` has a module of its name, with a class `Board` (see tracker.py).
"""
