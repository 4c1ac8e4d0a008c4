"""Config of UNITER."""

from typing import Literal

from pydantic import Field, PositiveInt

from captionlab.config.scorers import BertSizes, ImportedRegionScorer, ScorerFacts, TrainedScorer

FACTS = ScorerFacts(
    reads="regions",
    matching={"match_index": 1, "max_tokens": 62, "lowercase": False, "strip_punctuation": False},
)


class Architecture(BertSizes):
    """Sizes of UNITER."""

    layers: PositiveInt = Field(description="number of layers")


class Imported(ImportedRegionScorer):
    """A published UNITER."""

    family: Literal["uniter"]


class Trained(TrainedScorer):
    """UNITER that is trained here."""

    family: Literal["uniter"]
    architecture: Architecture = Field(description="sizes")
