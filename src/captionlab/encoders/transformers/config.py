"""Config of a dual encoder of the Hugging Face hub."""

from typing import Literal

from pydantic import Field

from captionlab.config.encoders import EncoderFacts, ImportedEncoder
from captionlab.config.model import FilePath

FACTS = EncoderFacts(
    texts=True,
    patches=True,
    folder=True,
    size=("dimensions",),
    libraries=("transformers", "torchvision", "pillow", "jinja2"),
)


class Imported(ImportedEncoder):
    """A published dual encoder, such as a CLIP, a SigLIP 2 or a MetaCLIP 2."""

    family: Literal["transformers"]
    weights: FilePath = Field(
        description="folder of a model, as `save_pretrained` writes it; hub/owner/name/commit is fetched from the "
        "Hugging Face hub"
    )
