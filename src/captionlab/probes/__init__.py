"""Probes: can a scene, or an object, be told from the states of a captioner (Cafagna et al. 2022, §7)?"""
