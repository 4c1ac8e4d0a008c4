"""Labels of the roles of captioners in the paper, which are called after the scorers that rewarded them."""

# The role that all others are compared with: the captioner that was trained by cross-entropy alone.
REFERENCE = "CE"
# The paper's scorers in its order, which is also the order of the captions (b) to (f) in Table 1.
MODELS = ("UNITER", "ROSITA", "ViLBERT", "CLIP", "LXMERT")
