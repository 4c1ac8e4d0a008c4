"""Measuring captions: n-gram metrics, retrieval, and intervals around both."""
