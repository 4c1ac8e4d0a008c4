"""Config of SigLIP."""

from typing import Literal

from pydantic import Field, PositiveInt

from captionlab.config.encoders import EncoderFacts, ImportedEncoder
from captionlab.config.model import FilePath

FACTS = EncoderFacts(
    texts=True,
    patches=False,
    files=("weights", "tokenizer"),
    size=("architecture", "text_config", "projection_size"),
    libraries=("transformers",),
)


class Imported(ImportedEncoder):
    """A published SigLIP."""

    family: Literal["siglip"]
    tokenizer: FilePath = Field(description="file of the tokens")
    heads: PositiveInt | None = Field(None, description="attention heads, which weights do not tell")
