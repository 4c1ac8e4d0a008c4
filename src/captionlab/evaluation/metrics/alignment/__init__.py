"""Alignment: how well a scorer finds that captions match their images."""
