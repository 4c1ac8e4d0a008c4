"""Config of CaMEL."""

from typing import Annotated, Literal

from pydantic import Field, NonNegativeInt, PositiveInt

from captionlab.config.captioners import CaptionerFacts, ImportedFiles, ReadsPatches, TrainedCaptioner
from captionlab.config.model import Dropout, Model

FACTS = CaptionerFacts(
    reads="patches",
    options=("teacher",),
    longest={"longest": 1},
    finetuned_as={"log_prob": "mean-with-end", "freeze_embeddings": False},
)


class Architecture(Model):
    """Sizes of a CaMEL."""

    width: PositiveInt = Field(description="size of a hidden state")
    encoder_layers: PositiveInt = Field(description="layers over the image")
    decoder_layers: PositiveInt = Field(description="layers over the caption")
    heads: PositiveInt = Field(description="attention heads of a layer")
    head_size: PositiveInt = Field(64, description="size of a head")
    feed_forward: PositiveInt = Field(description="hidden units of a feed-forward layer")
    memory: NonNegativeInt = Field(description="learned keys and values of a layer")
    meshed: bool = Field(description="true: the decoder reads all layers of the encoder; false: the last one")
    longest: PositiveInt = Field(40, description="largest number of tokens, the end included")
    grid_positions: bool = Field(False, description="whether places of the image have positions")
    dropout: Dropout = Field(0.1, description="share of units that are dropped in training")
    vocabulary: Annotated[int, Field(ge=257)] = Field(
        description="largest number of tokens; 256 are bytes, one is the end"
    )


class Imported(ReadsPatches, ImportedFiles):
    """A published CaMEL."""

    family: Literal["camel"]
    heads: PositiveInt | None = Field(None, description="attention heads, which weights do not tell")
    network: Literal["online", "target"] = Field("online", description="trained network that is read")
    grid_positions: bool = Field(False, description="whether it was trained with positions of the grid (--with_pe)")


class Trained(ReadsPatches, TrainedCaptioner):
    """A CaMEL that is trained here."""

    family: Literal["camel"]
    architecture: Architecture = Field(description="sizes")
