"""Config of matching scores."""

from captionlab.config.metrics import MetricFacts

FACTS = MetricFacts(place=4, asks=("scorers",))
