"""BLIP (Li et al. 2022) as captioner: its text decoder, which reads the image through cross-attention."""
