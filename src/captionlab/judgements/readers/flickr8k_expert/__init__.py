"""Flickr8k-Expert (Hodosh et al. 2013): captions that three experts rated from 1 to 4."""
