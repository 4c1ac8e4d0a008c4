"""Regions of images as tensors."""
