"""Attention of tags and regions in VinVL, before and after finetuning (Cafagna et al. 2022, §5)."""
