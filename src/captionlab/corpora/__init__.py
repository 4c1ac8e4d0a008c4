"""Corpora: images with texts, splits and optionally objects, stored as Parquet tables."""
