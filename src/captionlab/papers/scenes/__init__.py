"""Cafagna et al. 2022 (scenes): changes in a captioner that is finetuned on scenes."""
