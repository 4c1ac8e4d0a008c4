"""Probes: predict scenes and objects from the states of a captioner (Cafagna et al. 2022, §7)."""
