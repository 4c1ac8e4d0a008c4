"""UNITER (Chen et al. 2020): one BERT over the words and the regions of an image."""
