"""Readers of published judgements, one module for each.

A reader takes the block of the set of judgements in the config, the folder that relative paths start from, and the
corpus of the images. `captionlab.judgements.reading` makes the tables.
"""
