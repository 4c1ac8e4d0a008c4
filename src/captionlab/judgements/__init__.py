"""Captions that people judged: the published files of their judgements, and how well metrics agree with them."""

# Marks judged captions in a config: it is the family of their captioner, and the reader and only split of their corpus.
JUDGED = "judged"
# Stands between the names of sets whose judgements are pooled; no name in a config has this character.
POOL = "+"
