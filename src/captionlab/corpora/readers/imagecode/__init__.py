"""ImageCoDe."""
