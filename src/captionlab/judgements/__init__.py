"""Captions that people judged: the published files of their judgements, and how well metrics agree with them."""

# Marks judged captions in a config: it is the family of their captioner, and the reader and only split of their corpus.
JUDGED = "judged"
