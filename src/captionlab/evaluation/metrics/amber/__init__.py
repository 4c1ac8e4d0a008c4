"""AMBER: objects of an image that captions name, and objects that they invent, by AMBER's lists of words."""
