"""A made-up run for the tests of reporting: a summary, comparisons, and what stands for what in the paper."""

from typing import Any

LINEAGE: dict[str, dict[str, Any]] = {
    "clipcap": {"parent": None, "corpora": ["coco"], "family": "clipcap", "retriever": None},
    "tuned": {"parent": "clipcap", "corpora": ["coco", "coco"], "family": "clipcap", "retriever": "clip-a"},
    "people": {"parent": None, "corpora": [], "family": "human", "retriever": None},
}
BLOCK: dict[str, Any] = {
    "comparable": True,
    "captioners": {"Human captions": "people", "DiscriTune-COCO": "tuned", "ClipCap-COCO": "clipcap"},
    "corpora": {"Flickr": "flickr", "COCO": "coco"},
    "retrievers": ["clip-a", "clip-b"],
}
PROVENANCE = {"config": "made-up", "seed": 7, "commit": "abc", "device": "cpu", "versions": {"numpy": "2"}}


def row(captioner: str, corpus: str, metric: str, value: float, half: float = 1.0, **changes: Any) -> dict[str, Any]:
    """A row of the summary with the interval value ± half."""
    return {
        "captioner": captioner, "corpus": corpus, "split": "test", "evaluation": "main", "decoding": "beam5",
        "retriever": None, "candidates": None, "metric": metric, "value": value, "ci_low": value - half,
        "ci_high": value + half, "seeds": 1, "n": 500, "device": "cpu", **changes,
    }  # fmt: skip


def retrieved(captioner: str, corpus: str, value: float, retriever: str = "clip-a", **changes: Any) -> dict[str, Any]:
    """A row of P@1 among 100 candidates."""
    return row(captioner, corpus, "P@1", value, **{"retriever": retriever, "candidates": "100 file-order", **changes})


def compared(captioner: str, against: str, corpus: str, metric: str, value: float, half: float, **changes: Any):
    """A row of the comparisons with the interval value ± half."""
    return {
        "captioner": captioner, "against": against, "corpus": corpus, "split": "test", "evaluation": "main",
        "decoding": "beam5", "retriever": None, "candidates": None, "metric": metric, "difference": value,
        "ci_low": value - half, "ci_high": value + half, "p_value": 0.0004, "p_holm": 0.0004,
        "test": "paired bootstrap", "n": 500,
        "seeds": 1, **changes,
    }  # fmt: skip


def summary() -> list[dict[str, Any]]:
    """P@1 of three captioners on two corpora by two retrievers, and text metrics of the two models."""
    rows = []
    for retriever, shift in (("clip-a", 0.0), ("clip-b", -20.0)):
        for captioner, value in (("clipcap", 74.24), ("tuned", 84.0), ("people", 60.0)):
            rows.append(retrieved(captioner, "coco", value + shift, retriever))
            rows.append(retrieved(captioner, "coco", 30.0 + shift, retriever, candidates="full"))
            if captioner != "people":
                rows.append(retrieved(captioner, "flickr", value - 5 + shift, retriever, n=400))
    for captioner, corpus, value in (
        ("clipcap", "coco", 32.0), ("tuned", "coco", 20.0), ("clipcap", "flickr", 17.0), ("tuned", "flickr", 19.0)
    ):  # fmt: skip
        rows.append(row(captioner, corpus, "BLEU@4", value))
        rows.append(row(captioner, corpus, "CIDEr", 3 * value))
        rows.append(row(captioner, corpus, "METEOR", value / 2))
    return rows
