"""Config of SPICE."""

from captionlab.config.metrics import Definition, MetricFacts

FACTS = MetricFacts(
    place=3,
    metrics={
        "SPICE": Definition(
            "F-score of the objects, attributes and relations of caption and references (Anderson et al. 2016), "
            "averaged over captions.",
            "points, 0 to 100",
            "mean",
        )
    },
    references=True,
    english=True,
    switch="spice",
)
