"""Dessì et al. 2023 (discritune): discriminative finetuning of captioners, in-domain and across domains."""
