"""Config of image tower of BLIP."""

from typing import Literal

from pydantic import Field, PositiveInt

from captionlab.config.encoders import EncoderFacts, ImportedEncoder

FACTS = EncoderFacts(texts=False, patches=True, size=("sizes", "width"), libraries=("transformers",))


class Imported(ImportedEncoder):
    """A published image tower of BLIP."""

    family: Literal["blip"]
    heads: PositiveInt | None = Field(None, description="attention heads, which weights do not tell")
