"""What the graph must know of a table of scores of captions."""

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
]


@dataclass(frozen=True, kw_only=True)
class MetricFacts:
    """What the graph must know of a table of scores, with a row for each caption and what it was scored with."""

    place: int
    """rank of its metrics among those of other tables"""
    taken: tuple[str, ...] = ()
    """names of its metrics that a command of the config could have, too: in lower-case letters, digits and hyphens"""
    asks: tuple[str, ...] = ()
    """keys of an evaluation that ask for it; without any of them there is no such table; () is for all evaluations"""
    references: bool = False
    """whether captions are compared with references alone, which human captions are themselves"""
    switch: Literal["", "spice"] = ""
    """key of the config that can turn it off"""
    reads: tuple[MetricInput, ...] = ()
    """what its function `score` gets beside the captions (captionlab.evaluation.inputs); () if a rule of its own makes
    the table"""
    libraries: tuple[str, ...] = ()
    """libraries whose versions matter to it"""
    mem_mb: int = 4000
    """memory of a job, beside tables of embeddings that it holds"""
    runtime: int = 60
    """minutes of a job"""
    gpu: int = 0
    """GPUs of a job"""
