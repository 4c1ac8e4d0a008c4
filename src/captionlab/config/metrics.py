"""Facts of a table of scores of captions, which the graph reads."""

from dataclasses import dataclass
from typing import Literal

MetricInput = Literal[
    "tokens",
    "references",
    "texts",
    "objects",
    "training",
    "tags",
    "reference_tags",
    "categories",
    "encoders",
    "questions",
]


@dataclass(frozen=True, kw_only=True)
class MetricFacts:
    """Facts of a table of scores: a row for each caption and, if there are several, for each scorer or encoder."""

    place: int
    """rank of its metrics among the metrics of other tables"""
    taken: tuple[str, ...] = ()
    """names of its metrics that a command of the config could have, too: in lower-case letters, digits and hyphens"""
    asks: tuple[str, ...] = ()
    """keys of an evaluation of which at least one must be set for the table to be made; () if it is always made"""
    references: bool = False
    """whether captions are compared with references alone, which human captions are themselves"""
    switch: Literal["", "spice"] = ""
    """key of the config that can turn the table off"""
    reads: tuple[MetricInput, ...] = ()
    """inputs of its function `score` beside the captions (captionlab.evaluation.inputs); () if a rule of its own makes
    the table"""
    files: tuple[str, ...] = ()
    """keys of its block in an evaluation that name files, which are inputs of its function `score` by these names"""
    packages: tuple[str, ...] = ()
    """keys of its block in an evaluation that name installed spaCy models"""
    libraries: tuple[str, ...] = ()
    """libraries whose versions change the scores"""
    mem_mb: int = 4000
    """memory of a job, beside tables of embeddings that it holds"""
    runtime: int = 60
    """minutes of a job"""
    gpu: int = 0
    """GPUs of a job"""
