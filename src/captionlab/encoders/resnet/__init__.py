"""A ResNet as encoder: the mean of its last layer over an image of any size, as the FC captioner was trained on."""
