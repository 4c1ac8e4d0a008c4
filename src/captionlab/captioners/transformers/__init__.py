"""Any image-text-to-text model of the Hugging Face hub as captioner, by the classes of transformers."""
