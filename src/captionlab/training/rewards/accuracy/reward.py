"""Reward of retrieval accuracy: 1 if the caption finds its image among the candidates, else 0."""

from captionlab.training.rewards.retrieval import build_retrieval

build = build_retrieval
