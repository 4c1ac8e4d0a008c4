"""Probes: can a scene be told from the states of a captioner (Cafagna et al. 2022, §7)?"""
