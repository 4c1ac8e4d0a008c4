"""Texts alone: n-gram language models, and words with their parts of speech."""
