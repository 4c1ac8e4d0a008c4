"""Cafagna et al. 2022 (scenes): what changes when a captioner is finetuned on scenes."""
