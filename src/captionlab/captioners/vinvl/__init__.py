"""VinVL (Zhang et al. 2021) as captioner: Oscar's single BERT over a caption, the tags of objects, and regions."""
