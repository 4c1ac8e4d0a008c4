"""Discriminative reward (Dessì et al. 2023, section 3).

The reward is the log-probability of the image in a softmax over the candidates, scored by the caption.
"""

from captionlab.training.rewards.retrieval import build_retrieval

build = build_retrieval
