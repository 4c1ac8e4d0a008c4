"""Config of the table of Cafagna et al. 2023."""

from typing import Annotated, Literal

from annotated_types import Len
from pydantic import Field

from captionlab.config.model import Model, Ref
from captionlab.config.papers import SeeingTrainings

Axis = Literal["scene", "action", "rationale", "narrative", "object"]


class Config(Model):
    """Tables of Cafagna et al. 2023, *HL dataset*."""

    comparable: bool = Field(description="whether numbers of this run are compared with the paper's")
    corpora: Annotated[dict[Axis, Annotated[str, Ref("corpora")]], Len(1)] = Field(
        description="by axis (scene, action, rationale, narrative; object: COCO's captions, of which the paper has no "
        "numbers) the corpus with its captions"
    )
    models: Annotated[dict[str, Annotated[dict[Axis, SeeingTrainings], Len(1)]], Len(1)] = Field(
        description="by the paper's label of a model (GIT, BLIP, ClipCap) and axis the captioner that plays it, or "
        "several that differ by the seed of their training; one evaluation with `sacrebleu: true` has it and the "
        "corpus of the axis. The row of another label has no published numbers"
    )
