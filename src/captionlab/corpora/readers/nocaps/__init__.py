"""nocaps, which is in COCO's format."""
