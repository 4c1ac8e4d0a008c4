"""SigLIP (Zhai et al. 2023): a CLIP with other towers and another loss; the class of transformers, frozen."""
