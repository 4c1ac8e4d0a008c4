"""Nebula (Matsuda et al. 2024, DENEB): captions of many kinds of images, each with a rating by people."""
