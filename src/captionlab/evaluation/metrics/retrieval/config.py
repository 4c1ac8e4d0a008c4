"""Config of retrieval."""

from captionlab.config.metrics import Definition, MetricFacts

FACTS = MetricFacts(
    place=2,
    metrics={
        "P@1": Definition(
            "Share of the captions by which the retriever finds their image first among the candidates.", "%", "share"
        ),
        **{
            f"R@{rank}": Definition(
                f"Share of the captions whose image is among the first {rank} candidates by the retriever.",
                "%",
                "share",
            )
            for rank in (5, 10)
        },
        "mean rank": Definition(
            "Rank of the image among the candidates by the retriever, from 1, averaged over captions.", "ranks", "mean"
        ),
    },
    asks=("retrievers",),
)
