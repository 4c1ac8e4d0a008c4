"""COCO, Flickr8k and Flickr30k in the splits of Karpathy and Fei-Fei."""
