"""A dual encoder of the Hugging Face hub: any model of transformers that embeds images and texts in one space."""
