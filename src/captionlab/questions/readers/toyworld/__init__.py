"""Questions that the toy world writes about its own images."""
