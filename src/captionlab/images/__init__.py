"""Images: where they lie, and how they are opened."""
