"""Config of matching scores."""

from captionlab.config.metrics import Definition, MetricFacts

FACTS = MetricFacts(
    place=4,
    metrics={
        "score": Definition(
            "How well the scorer says that caption and image match, averaged over captions.",
            "100 times the score; nats for a log-likelihood",
            "mean",
        )
    },
    asks=("scorers",),
)
