"""Encoders: frozen models that turn images, and perhaps texts, into vectors; and tables of embeddings."""
