"""Reward of retrieval accuracy: 1 if the caption finds its image among the candidates, else 0."""

from captionlab.declarations import RewardKind
from captionlab.training.rewards.retrieval import build_retrieval

DECLARATION = RewardKind(keys={}, required=("candidates",), asks="retriever", references=False, of=False, libraries=())

build = build_retrieval
