"""Files that a config reads and the workflow does not make: where they come from and how they are fetched."""
