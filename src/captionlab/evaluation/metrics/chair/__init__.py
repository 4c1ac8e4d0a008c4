"""CHAIR: the share of named objects that images do not have, and the share of the objects in images that are named."""
