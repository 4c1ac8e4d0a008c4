"""Reward of similarity: the retriever's score of the caption with its image."""

from captionlab.training.rewards.retrieval import build_retrieval

build = build_retrieval
