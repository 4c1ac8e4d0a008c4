"""Cafagna et al. 2023 (hl): who describes scenes, actions, rationales and narratives best?"""
