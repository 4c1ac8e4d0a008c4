"""Metrics of captions: n-gram metrics, retrieval, and intervals for their values."""
