"""Attention: what tags and regions attend to in VinVL, before and after finetuning (Cafagna et al. 2022, §5)."""
