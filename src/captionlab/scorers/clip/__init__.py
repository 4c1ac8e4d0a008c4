"""CLIP, or another encoder, as a scorer: the cosine of image and caption, with a prompt before it and a scale."""
