"""CHAIR: objects that captions name and their images do not have; and how many of those in the images they name."""
