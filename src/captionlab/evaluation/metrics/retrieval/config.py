"""Config of retrieval."""

from captionlab.config.metrics import MetricFacts

FACTS = MetricFacts(place=2, asks=("retrievers",))
