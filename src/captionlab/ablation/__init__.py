"""Ablation: scenes, their diagnostic objects, and captions without the objects (Cafagna et al. 2022, §5 and §6)."""
