"""Config of SPICE."""

from captionlab.config.metrics import MetricFacts

FACTS = MetricFacts(place=3, references=True, switch="spice")
