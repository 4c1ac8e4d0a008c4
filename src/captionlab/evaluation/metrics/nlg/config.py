"""Config of BLEU, METEOR, ROUGE-L and CIDEr."""

from captionlab.config.metrics import MetricFacts

FACTS = MetricFacts(place=1, references=True)
