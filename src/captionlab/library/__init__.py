"""Library for programs and notebooks: results of a run as tables, captioners and rewards as objects, intervals.

docs/api.md describes the public names, which `captionlab` itself exports.
"""
