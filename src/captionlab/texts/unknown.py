"""The placeholder that a captioner with a vocabulary of whole words writes for an unknown word. Imports nothing."""

UNKNOWN = "UNK"
