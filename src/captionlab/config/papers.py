"""Types that the blocks of papers share."""

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
