"""Config of ClipCap."""

from typing import Annotated, Literal

from pydantic import Field, NonNegativeInt, PositiveInt

from captionlab.config.captioners import CaptionerFacts, ImportedFiles, ReadsVector, TrainedCaptioner
from captionlab.config.model import Divides, Model

FACTS = CaptionerFacts(
    reads="vector",
    size="prefix_size",
    longest={"positions": 1, "prefix_length": -1},
    finetuned_as={"log_prob": "mean", "freeze_embeddings": True},
)


class Architecture(Model):
    """Sizes of a ClipCap."""

    prefix_length: PositiveInt = Field(description="number of tokens that stand for the image")
    width: PositiveInt = Field(description="size of a hidden state")
    layers: PositiveInt = Field(description="layers of the text decoder")
    heads: Annotated[PositiveInt, Divides("width")] = Field(description="attention heads of a layer")
    positions: Annotated[int, Field(ge=2)] = Field(
        description="largest number of tokens of prefix and caption together"
    )
    mapper_hidden: NonNegativeInt = Field(description="hidden units of the mapper; 0: one linear layer")
    vocabulary: Annotated[int, Field(ge=257)] = Field(
        description="largest number of tokens; 256 are bytes, one is the end"
    )


class Imported(ReadsVector, ImportedFiles):
    """A published ClipCap."""

    family: Literal["clipcap"]
    heads: PositiveInt | None = Field(None, description="attention heads, which weights do not tell")


class Trained(ReadsVector, TrainedCaptioner):
    """A ClipCap that is trained here."""

    family: Literal["clipcap"]
    architecture: Architecture = Field(description="sizes")
