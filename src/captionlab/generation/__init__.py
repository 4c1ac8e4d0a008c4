"""Generation: decoding captions, and reading captions made elsewhere."""
