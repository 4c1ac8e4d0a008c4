"""Config of ViLBERT."""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal

from annotated_types import Len
from pydantic import Field, NonNegativeInt, PositiveInt

from captionlab.config.model import Divides
from captionlab.config.scorers import BertSizes, ImportedRegionScorer, ScorerFacts, TrainedScorer

Layers = Annotated[list[NonNegativeInt], Len(1)]
FACTS = ScorerFacts(
    reads="regions",
    matching={"match_index": 0, "max_tokens": 36, "lowercase": True, "strip_punctuation": False},
)


class Architecture(BertSizes):
    """Sizes of a ViLBERT."""

    layers: PositiveInt = Field(description="layers of the text")
    visual_width: PositiveInt = Field(description="size of a hidden state of a region")
    visual_layers: PositiveInt = Field(description="layers of the regions")
    visual_heads: Annotated[PositiveInt, Divides("visual_width")] = Field(
        description="attention heads of a layer of the regions"
    )
    visual_feed_forward: PositiveInt = Field(description="hidden units of a feed-forward layer of the regions")
    connections: PositiveInt = Field(description="layers in which text and regions attend to each other")
    joint_width: PositiveInt = Field(description="size of a hidden state of a connection")
    joint_heads: Annotated[PositiveInt, Divides("joint_width")] = Field(description="attention heads of a connection")


class Imported(ImportedRegionScorer):
    """A published ViLBERT."""

    family: Literal["vilbert"]
    visual_heads: PositiveInt | None = Field(None, description="attention heads of regions")
    joint_heads: PositiveInt | None = Field(None, description="attention heads of connections")
    task: NonNegativeInt = Field(7, description="output of several tasks that is read: 7 is retrieval in COCO")
    v_biattention_id: Layers | None = Field(
        None, description="visual layers before each connection, as in the authors' configuration"
    )
    t_biattention_id: Layers | None = Field(None, description="layers of the text before each connection")

    def mistakes(self, config: Mapping[str, Any]) -> Iterator[str]:
        """Yield a sentence if only one side of the connections is placed."""
        yield from super().mistakes(config)
        sides = ("v_biattention_id", "t_biattention_id")
        if len(given := [side for side in sides if getattr(self, side) is not None]) == 1:
            (missing,) = {*sides} - {*given}
            yield f"{{place}}.{given[0]} needs {missing} beside it"


class Trained(TrainedScorer):
    """A ViLBERT that is trained here."""

    family: Literal["vilbert"]
    architecture: Architecture = Field(description="sizes")
