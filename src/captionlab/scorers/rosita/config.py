"""Config of ROSITA."""

from typing import Literal

from pydantic import Field, PositiveInt

from captionlab.config.scorers import BertSizes, ImportedRegionScorer, ScorerFacts, TrainedScorer

FACTS = ScorerFacts(
    reads="regions",
    matching={"match_index": 1, "max_tokens": 30, "lowercase": True, "strip_punctuation": True},
)


class Architecture(BertSizes):
    """Sizes of ROSITA."""

    layers: PositiveInt = Field(description="number of layers")


class Imported(ImportedRegionScorer):
    """A published ROSITA."""

    family: Literal["rosita"]


class Trained(TrainedScorer):
    """ROSITA that is trained here."""

    family: Literal["rosita"]
    architecture: Architecture = Field(description="sizes")
