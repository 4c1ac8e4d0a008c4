"""WebDataset: tars of an image, its text and its JSON by key, as img2dataset writes them."""
