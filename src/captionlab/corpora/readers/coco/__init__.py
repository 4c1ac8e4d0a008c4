"""COCO's own files."""
