"""Flickr8k and Flickr30k in the files of their authors."""
