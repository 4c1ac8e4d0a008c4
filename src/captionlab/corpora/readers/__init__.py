"""Readers of published corpora, a module for each: annotation files become entries, one per image.

A reader takes the block of the corpus in the config and the folder that relative paths start from. It reads
annotations only; images are checked by those who use the entries. `captionlab.corpora.reading` makes the tables.
"""
