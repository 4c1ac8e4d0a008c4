"""Text processing without images: n-gram language models, counting of n-grams, and part-of-speech tagging."""
