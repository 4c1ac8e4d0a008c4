"""Discriminative reward (Dessì et al. 2023, section 3).

The reward is the log-probability of the image in a softmax over the candidates, scored by the caption.
"""

from captionlab.declarations import RewardKind
from captionlab.training.rewards.retrieval import build_retrieval

DECLARATION = RewardKind(keys={}, required=("candidates",), asks="retriever", references=False, of=False, libraries=())

build = build_retrieval
