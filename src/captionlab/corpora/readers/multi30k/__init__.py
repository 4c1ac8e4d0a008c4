"""Multi30k: captions of the images of Flickr30k in several languages."""
