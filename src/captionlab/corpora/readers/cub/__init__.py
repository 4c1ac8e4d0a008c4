"""Captions of the birds of CUB-200-2011."""
