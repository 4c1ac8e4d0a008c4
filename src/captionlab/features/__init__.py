"""Frozen image features: encoders, their training on a corpus, and tables of embeddings."""
