"""The image side of a model of the Hugging Face hub as encoder: what its captioner reads of an image, at every place."""
