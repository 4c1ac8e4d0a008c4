"""The two captioners that the scenes paper compares (Cafagna et al. 2022), as the config, columns and figures call them.

Imports nothing, for the Snakefile needs it too.
"""

ROLES = PRETRAINED, FINETUNED = ("pretrained", "finetuned")
