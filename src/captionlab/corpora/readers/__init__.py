"""Readers of published corpora, one module per format, that turn annotation files into one entry per image.

A reader takes the block of the corpus in the config and the folder that relative paths start from. It reads annotations
only and does not check images. `captionlab.corpora.reading` checks the images and writes the tables.
"""
