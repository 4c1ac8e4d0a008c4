"""The High-Level dataset."""
