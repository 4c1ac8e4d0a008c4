"""Encoders: frozen models that turn images, and possibly texts, into vectors, and tables of embeddings."""
