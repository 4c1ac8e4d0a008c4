"""Reward of similarity: the retriever's score of the caption with its image."""

from captionlab.declarations import RewardKind
from captionlab.training.rewards.retrieval import build_retrieval

DECLARATION = RewardKind(keys={}, required=("candidates",), asks="retriever", references=False, of=False, libraries=())

build = build_retrieval
