"""Ablation: scenes, the objects that tell them, and captions without these objects (Cafagna et al. 2022, §5 and §6)."""
