"""The image side of a model of the Hugging Face hub as encoder: what its captioner reads at every place of an image."""
