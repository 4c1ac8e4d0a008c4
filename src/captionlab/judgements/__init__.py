"""Captions that people judged: the published files of their judgements, and how far metrics agree with them."""

# What stands for judged captions in a config: family of a captioner, reader of a corpus, and the one split that it has.
JUDGED = "judged"
