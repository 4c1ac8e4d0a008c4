"""Cross-entropy: the captioner learns to give the reference caption of an image, perhaps near a mean teacher."""
