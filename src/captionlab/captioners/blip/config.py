"""Config of BLIP."""

from typing import Annotated, Literal

from annotated_types import Len
from pydantic import Field, NonNegativeInt, PositiveInt

from captionlab.config.captioners import CaptionerFacts, ImportedFiles, ReadsPatches, TrainedCaptioner
from captionlab.config.model import Divides, Dropout, Model

FACTS = CaptionerFacts(
    reads="patches",
    libraries=("transformers",),
    options=("teacher",),
    longest={"positions": 1, "": -1},
    finetuned_as={"log_prob": "mean-with-end", "freeze_embeddings": False},
)


class Architecture(Model):
    """Sizes of the text decoder of a BLIP."""

    width: PositiveInt = Field(description="size of a hidden state")
    layers: PositiveInt = Field(description="layers of the text decoder")
    heads: Annotated[PositiveInt, Divides("width")] = Field(description="attention heads of a layer")
    feed_forward: PositiveInt = Field(description="hidden units of a feed-forward layer")
    positions: Annotated[int, Field(ge=2)] = Field(
        description="largest number of tokens of prompt and caption together"
    )
    dropout: Dropout = Field(0.1, description="share of units that are dropped in training")
    vocabulary: Annotated[int, Field(ge=257)] = Field(
        description="largest number of tokens; 256 are bytes, one is the end"
    )


class Imported(ReadsPatches, ImportedFiles):
    """A published BLIP."""

    family: Literal["blip"]
    heads: PositiveInt | None = Field(None, description="attention heads, which weights do not tell")
    prompt: Annotated[list[NonNegativeInt], Len(1)] | None = Field(
        None,
        description="ids of the tokens before every caption, by default `[DEC] a picture of`; `[30522]` is [DEC] "
        "alone, with which the BLIP of transformers starts captions without a prompt",
    )


class Trained(ReadsPatches, TrainedCaptioner):
    """A BLIP whose text decoder is trained here."""

    family: Literal["blip"]
    architecture: Architecture = Field(description="sizes")
