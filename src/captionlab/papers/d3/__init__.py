"""Gaur et al. 2024 (d3): self-retrieval among look-alikes, as a reward that grows harder and as an evaluation."""
