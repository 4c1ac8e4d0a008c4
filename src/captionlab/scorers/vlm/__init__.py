"""A model of the Hugging Face hub as a scorer: the probability of the answer yes, or the likelihood of a caption."""
