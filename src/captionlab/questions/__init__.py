"""Questions about images: how they are read, and how they are answered from captions alone."""
