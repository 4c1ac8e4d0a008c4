"""Foils of the toy world: captions that say something wrong about an image whose objects are known."""
