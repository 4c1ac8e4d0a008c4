"""Config of VinVL."""

from typing import Annotated, Literal

from pydantic import Field, NonNegativeInt, PositiveInt

from captionlab.config.captioners import CaptionerFacts, ImportedFiles, ReadsTaggedRegions, TrainedCaptioner
from captionlab.config.model import Divides, Dropout, Model

FACTS = CaptionerFacts(
    reads="tagged-regions",
    predicts=("next-word", "masked-words"),
    attention=True,
    longest={"positions": 1, "": -1},
    finetuned_as={"log_prob": "mean", "freeze_embeddings": True},
)


class Architecture(Model):
    """Sizes of a VinVL."""

    vocabulary: Annotated[int, Field(ge=6)] = Field(description="largest number of word pieces")
    positions: Annotated[int, Field(ge=3)] = Field(
        description="number of positions: of captions and, from tag_position on, of tags"
    )
    width: PositiveInt = Field(description="size of a hidden state")
    layers: PositiveInt = Field(description="layers of the BERT")
    heads: Annotated[PositiveInt, Divides("width")] = Field(description="attention heads of a layer")
    feed_forward: PositiveInt = Field(description="hidden units of a feed-forward layer")
    tag_position: Annotated[int, Field(ge=2)] = Field(40, description="first position of tags")
    max_pieces: PositiveInt = Field(30, description="number of word pieces of tags that are read")
    max_regions: PositiveInt = Field(50, description="number of regions that are read")
    dropout: Dropout = Field(0.1, description="share of units that are dropped in training")


class Imported(ReadsTaggedRegions, ImportedFiles):
    """A published VinVL."""

    family: Literal["vinvl"]
    heads: PositiveInt | None = Field(None, description="attention heads, which weights do not tell")
    tag_position: PositiveInt = Field(40, description="first position of tags")
    start: NonNegativeInt = Field(101, description="id of [CLS]")
    mask: NonNegativeInt = Field(103, description="id of [MASK]")
    max_pieces: PositiveInt = Field(30, description="number of word pieces of tags that are read")
    max_regions: PositiveInt = Field(50, description="number of regions that are read")


class Trained(ReadsTaggedRegions, TrainedCaptioner):
    """A VinVL that is trained here."""

    family: Literal["vinvl"]
    architecture: Architecture = Field(description="sizes")
