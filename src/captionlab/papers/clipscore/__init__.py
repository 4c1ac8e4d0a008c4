"""Hessel et al. 2021 (clipscore): agreement of caption metrics with human judgements."""
