"""Facts of a table of scores of captions, which the graph reads."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
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
    "languages",
    "tokenizers",
]

# How a value of a corpus is made from its captions: their mean, the share of captions that count, the share of items
# of captions that count, a formula of sums over captions, or a count of different words. Shares are "apart" if their
# intervals are computed before they are subtracted.
Computation = Literal["mean", "share", "items", "corpus", "distinct", "apart"]


@dataclass(frozen=True)
class Definition:
    """The definition of a metric: a sentence, the unit of its printed values, and how a corpus has its value."""

    sentence: str
    unit: str
    computation: Computation


@dataclass(frozen=True, kw_only=True)
class MetricFacts:
    """Facts of a table of scores: a row for each caption and, if there are several, for each scorer or encoder."""

    place: int
    """rank of its metrics among the metrics of other tables"""
    metrics: Mapping[str, Definition] = field(default_factory=dict)
    """definitions of its metrics by their printed names; {block} stands for the name of the block of the config that
    the table is of, and * for any other name"""
    taken: tuple[str, ...] = ()
    """names of its metrics that a command of the config could have, too: in lower-case letters, digits and hyphens"""
    asks: tuple[str, ...] = ()
    """keys of an evaluation of which at least one must be set for the table to be made; () if it is always made"""
    references: bool = False
    """whether captions are compared with references alone, which human captions are themselves"""
    english: bool = False
    """whether it is for captions in English alone: those of other corpora have no scores"""
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

    def definition(self, metric: str, blocks: Sequence[str] = ()) -> Definition | None:
        """Return the definition of a metric by its printed name, or None if the table does not define it.

        `blocks` are the names of the blocks of the config that have a table each.
        """
        for name, definition in self.metrics.items():
            if any(fnmatchcase(metric, name.replace("{block}", block)) for block in (blocks or [""])):
                return definition
        return None
