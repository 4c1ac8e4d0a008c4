"""Captions that people judged: the published files of their judgements, and how well metrics agree with them."""
