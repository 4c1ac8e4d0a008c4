"""Types that the blocks of papers share, and what the workflow must know of a paper."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from annotated_types import Len

from captionlab.config.model import Ref, Unique

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
    """The sections of a config of which a paper has tables or figures even if the config does not ask for the paper."""

    sections: Sequence[str] = ()


def listed(names: str | Sequence[str]) -> list[str]:
    """Return a name, or several names, as a list."""
    return [names] if isinstance(names, str) else list(names)
