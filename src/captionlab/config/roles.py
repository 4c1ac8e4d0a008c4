"""The two captioners that the scenes paper (Cafagna et al. 2022) compares, as config, columns and figures name them.

This module imports nothing, because the Snakefile needs it too.
"""

ROLES = PRETRAINED, FINETUNED = ("pretrained", "finetuned")
