"""What a config reads and does not make: where each file comes from, and how it is fetched."""
