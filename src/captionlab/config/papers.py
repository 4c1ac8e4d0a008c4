"""Types that the blocks of papers share, and the facts of a paper that the workflow reads."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated

from annotated_types import Len

from captionlab.config.blocks import POOL
from captionlab.config.metrics import Definition
from captionlab.config.model import Ref, Unique
from captionlab.plugins import PAPERS, PluginError, names, place_of

# What every paper has.
PARTS = ("config.py", "rules.smk", "tables.py", "evidence.py", "claims.yaml", "published.csv")

Corpora = Annotated[dict[str, Annotated[str, Ref("corpora")]], Len(1)]
Training = Annotated[str, Ref("captioners", trainings=True)]
Trainings = Training | Annotated[list[Training], Len(1), Unique()]
SeeingTraining = Annotated[
    str,
    Ref(
        "captioners",
        trainings=True,
        refuses={"family": ["human", "constructed"]},
        reason="is {name}; a role is played by a captioner that sees the images",
    ),
]
SeeingTrainings = SeeingTraining | Annotated[list[SeeingTraining], Len(1), Unique()]


@dataclass(frozen=True)
class PaperFacts:
    """Facts of a paper."""

    sections: Sequence[str] = ()
    """sections of the config for which its tables are made even if the paper is not asked for"""
    analyses: Mapping[str, Definition] = field(default_factory=dict)
    """definitions of the numbers of its tables that are of captions but of no metric, by the name of the measure; *
    stands for any name"""


def listed(names: str | Sequence[str]) -> list[str]:
    """Return a name, or several names, as a list."""
    return [names] if isinstance(names, str) else list(names)


def pooled_sets(judgements: Mapping[str, str | Sequence[str]]) -> dict[str, str]:
    """Return the set of judgements of each label. The names of several sets, which are pooled, are joined."""
    return {label: POOL.join(listed(names)) for label, names in judgements.items()}


def check_papers() -> None:
    """Raise PluginError for a paper whose folder has no usable name or lacks what every paper has."""
    for name in names(PAPERS):
        folder = place_of(PAPERS, name)
        if not re.fullmatch("[a-z0-9]+", name):
            raise PluginError(f"{folder}: the name {name!r} must be of lower-case letters and digits")
        if missing := [file for file in PARTS if not (folder / file).is_file()]:
            raise PluginError(f"{folder} lacks {missing[0]}; captionlab.reporting.paper says what a paper needs")
