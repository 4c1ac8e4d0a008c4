"""The results browser: a page, opened from the disk, that shows the captions of every captioner for every image."""
