"""The results browser: a page, opened from the disk, that shows what every captioner said of every image."""
