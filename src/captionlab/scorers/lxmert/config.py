"""Config of LXMERT."""

from typing import Literal

from pydantic import Field, PositiveInt

from captionlab.config.scorers import BertSizes, ImportedRegionScorer, ScorerFacts, TrainedScorer

FACTS = ScorerFacts(
    reads="regions",
    matching={"match_index": 1, "max_tokens": 20, "lowercase": True, "strip_punctuation": False},
    libraries=("transformers",),
)


class Architecture(BertSizes):
    """Sizes of LXMERT."""

    layers: PositiveInt = Field(description="layers of the text alone")
    visual_layers: PositiveInt = Field(description="layers of the regions alone")
    cross_layers: PositiveInt = Field(description="layers of text and regions together")


class Imported(ImportedRegionScorer):
    """A published LXMERT."""

    family: Literal["lxmert"]


class Trained(TrainedScorer):
    """LXMERT that is trained here."""

    family: Literal["lxmert"]
    architecture: Architecture = Field(description="sizes")
