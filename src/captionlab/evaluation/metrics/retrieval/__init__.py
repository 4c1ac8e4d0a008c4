"""Text-to-image retrieval: the rank of a caption's image among candidates, by cosine similarity."""
