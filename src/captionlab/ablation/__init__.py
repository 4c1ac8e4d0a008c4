"""Ablation: scenes, their diagnostic objects, and captions without these objects (Cafagna et al. 2022, §5 and §6)."""
