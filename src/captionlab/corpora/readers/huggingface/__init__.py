"""Parquet as data sets on the Hugging Face hub have it."""
