"""Numbers of a small run that own tables are made from: names with special characters, halves, means, missing ones."""

from captionlab.config.own_tables import Choice
from captionlab.reporting.tables.own_table import Numbers

MADE = {
    "config": "odd, % & | name",
    "seed": 3,
    "commit": "0123abcd",
    "device": "CPU",
    "toy": True,
    "caveats": ["half of it"],
}
HUMAN, PLAIN, ODD, SEEDED = "human", "plain", 'o_d%d &| #1 <b>"x"</b> \\ ~^ é \N{GRINNING FACE} $1$ {y} `*z*`', "seeded"
METRICS = [
    {"metric": "CIDEr"},
    {"metric": "BLEU_4 & |%"},
    {"metric": "mean rank", "retriever": "clip_a|b", "candidates": "100 file-order"},
    {"metric": "P@1", "retriever": "clip_a|b", "candidates": "full"},
]
# Halves in binary, numbers just beside halves, negative numbers, and zero.
VALUES = {
    PLAIN: (0.125, 2.5, 12.0, 66.65),
    ODD: (0.375, 2.675, 3.5, 66.65),
    SEEDED: (-0.25, 0.0, 1.005, 100.0),
    HUMAN: (None, None, 1.0, 99.95),
}


def rows_of(captioner: str, corpus: str, evaluation: str, seeds: int = 1, more: float = 0.0) -> list[dict]:
    """Rows of SUMMARY of a captioner."""
    found = []
    for metric, value in zip(METRICS, VALUES[captioner], strict=True):
        if value is not None:
            place = {"retriever": None, "candidates": None, **metric}
            place |= {"captioner": captioner, "corpus": corpus, "evaluation": evaluation, "split": "test"}
            ends = {"value": value + more, "ci_low": value + more - 0.625, "ci_high": value + more + 1.125}
            decoding = "given" if captioner == HUMAN else "beam5"
            n = 90 if metric["metric"] == "P@1" else 100
            found.append({**place, **ends, "seeds": seeds, "n": n, "decoding": decoding, "device": "CPU"})
    return found


def difference(captioner: str, against: str, metric: int, value: float, p_holm: float | None, seeds: int = 1) -> dict:
    """A row of COMPARISONS on the first corpus."""
    place = {"retriever": None, "candidates": None, **METRICS[metric]}
    place |= {"captioner": captioner, "against": against, "corpus": "a_b%", "evaluation": "main", "split": "test"}
    ends = {"difference": value, "ci_low": value - 0.5, "ci_high": value + 0.25}
    return {
        **place,
        **ends,
        "p_value": p_holm,
        "p_holm": p_holm,
        "test": None,
        "seeds": seeds,
        "n": 100,
        "decoding": "beam5",
    }


def numbers() -> Numbers:
    """All numbers of the run."""
    summary = [row for name in (PLAIN, ODD, SEEDED, HUMAN) for row in rows_of(name, "a_b%", "main", more=0.0)]
    summary += rows_of(SEEDED, "a_b%", "main", seeds=3, more=0.5)
    summary += [row for name in (PLAIN, SEEDED) for row in rows_of(name, "second", "main", more=1.0)]
    summary += rows_of(PLAIN, "second", "other")
    comparisons = [
        difference(ODD, PLAIN, 0, 0.125, 0.0004),
        difference(ODD, PLAIN, 1, -0.125, 0.03),
        difference(PLAIN, SEEDED, 0, 0.375, 0.2),
        difference(PLAIN, SEEDED, 2, -0.05, 0.009),
        difference(PLAIN, SEEDED, 1, -0.5, None, seeds=3),
        difference(PLAIN, SEEDED, 1, -0.25, 0.5),
        difference(SEEDED, PLAIN, 3, 0.0, None, seeds=3),
    ]
    published = {
        (PLAIN, "a_b%", "main", None, None, "CIDEr"): "73.0",
        (ODD, "second", "main", "clip_a|b", "full", "P@1"): "-1.50",
    }
    return Numbers(summary, comparisons, published, True, [HUMAN])


def choice(**others) -> Choice:
    """A choice of everything, or of other rows, columns and form."""
    usual = {
        "captioners": [ODD, PLAIN, SEEDED, HUMAN],
        "corpora": ["a_b%", "second"],
        "evaluations": ["main"],
        "metrics": METRICS,
    }
    return Choice.model_validate({**usual, **others})


CHOICES = {
    "usual": choice(),
    "bare": choice(
        intervals=False, best=False, decimals=2, metrics=METRICS[::-1], captioners=[HUMAN, SEEDED], width="neurips"
    ),
    "differences": choice(differences=PLAIN, decimals=1, notes=["A note: 5 % & more | <i>", "and _another_."]),
    "turned": choice(differences=SEEDED, decimals=2, intervals=False, corpora=["a_b%"], width="acl-column"),
    "published": choice(published=True, decimals=0, corpora=["second", "a_b%"], evaluations=["other", "main"]),
    "all": choice(published=True, differences=PLAIN, decimals=3, width="cvpr-column", captioners=[PLAIN, ODD]),
}
