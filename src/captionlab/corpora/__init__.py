"""Corpora: images with texts, splits and perhaps objects, as Parquet tables."""
