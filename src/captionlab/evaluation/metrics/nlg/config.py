"""Config of BLEU, METEOR, ROUGE-L and CIDEr."""

from captionlab.config.metrics import Definition, MetricFacts

FACTS = MetricFacts(
    place=1,
    metrics={
        **{
            f"BLEU@{order}": Definition(
                f"Geometric mean of the precisions of n-grams of 1 to {order} words, summed over the corpus, times a "
                "penalty for captions shorter than the references (Papineni et al. 2002).",
                "points, 0 to 100",
                "corpus",
            )
            for order in range(1, 5)
        },
        "METEOR": Definition(
            "Harmonic mean of precision and recall of words matched with the best reference, exactly or by stem, "
            "synonym or paraphrase, with a penalty for their order, from sums over the corpus "
            "(Denkowski and Lavie 2014).",
            "points, 0 to 100",
            "corpus",
        ),
        "ROUGE-L": Definition(
            "F-score of the longest common subsequence of caption and reference (Lin 2004), averaged over captions.",
            "points, 0 to 100",
            "mean",
        ),
        "CIDEr": Definition(
            "Cosine of the n-grams of caption and references, of 1 to 4 words, weighted by how rare they are in the "
            "references of the corpus (Vedantam et al. 2015), averaged over captions.",
            "points, 0 to 1000",
            "mean",
        ),
    },
    references=True,
)
