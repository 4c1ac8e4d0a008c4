"""What a captioner with a vocabulary of whole words writes for one that it does not know. Imports nothing."""

UNKNOWN = "UNK"
