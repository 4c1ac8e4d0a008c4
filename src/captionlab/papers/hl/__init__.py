"""Cafagna et al. 2023 (hl): models on descriptions of scenes, actions and rationales, and on narratives."""
