"""Config of CLIP."""

from typing import Annotated, Literal

from annotated_types import Len
from pydantic import Field, PositiveFloat, PositiveInt

from captionlab.config.encoders import EncoderFacts, ImportedEncoder, TrainedEncoder
from captionlab.config.model import Model

FACTS = EncoderFacts(texts=True, patches=True, size=("architecture", "embed_dim"), libraries=("open_clip_torch",))


class VisionTower(Model):
    """The `vision_cfg` of open_clip."""

    image_size: PositiveInt = Field(description="pixels of a side")
    layers: PositiveInt | Annotated[list[PositiveInt], Len(4, 4)] = Field(
        description="layers of a vision transformer, or of the four stages of a ResNet"
    )
    width: PositiveInt = Field(description="size of a hidden state")
    head_width: PositiveInt | None = Field(None, description="size of an attention head, 64 by default")
    patch_size: PositiveInt | None = Field(None, description="pixels of the side of a patch, 16 by default")
    mlp_ratio: PositiveFloat | None = Field(None, description="hidden units by width, 4 by default")


class TextTower(Model):
    """The `text_cfg` of open_clip."""

    context_length: Annotated[int, Field(ge=3)] | None = Field(
        None, description="largest number of tokens, 77 by default"
    )
    vocab_size: Annotated[int, Field(ge=49408)] | None = Field(None, description="number of tokens, 49408 by default")
    width: PositiveInt | None = Field(None, description="size of a hidden state, 512 by default")
    heads: PositiveInt | None = Field(None, description="attention heads of a layer, 8 by default")
    layers: PositiveInt | None = Field(None, description="layers, 12 by default")
    mlp_ratio: PositiveFloat | None = Field(None, description="hidden units by width, 4 by default")


class Architecture(Model):
    """A model config of open_clip."""

    embed_dim: PositiveInt = Field(description="size of an embedding")
    vision_cfg: VisionTower = Field(description="image tower")
    text_cfg: TextTower = Field(description="text tower")
    quick_gelu: bool = Field(False, description="whether the activation is OpenAI's")


class Imported(ImportedEncoder):
    """A published CLIP: a file of weights, or a model that open_clip knows."""

    family: Literal["clip"]
    model: str | None = Field(None, description="name of the architecture in open_clip; `weights` is then a tag")
    head_width: PositiveInt | None = Field(
        None, description="file: size of an attention head, which weights do not tell; OpenAI's have 64"
    )
    heads: PositiveInt | None = Field(None, description="attention heads of the text tower if not width / `head_width`")
    quick_gelu: bool = Field(True, description="file: whether the activation is OpenAI's")


class Trained(TrainedEncoder):
    """A CLIP that is trained here."""

    family: Literal["clip"]
    architecture: Architecture = Field(description="sizes")
