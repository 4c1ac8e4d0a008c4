"""Config of the image side of a captioner of the Hugging Face hub."""

from typing import Any, Literal

from pydantic import Field

from captionlab.config.encoders import EncoderFacts, ImportedEncoder
from captionlab.config.model import FilePath

FACTS = EncoderFacts(
    texts=False,
    patches=True,
    folder=True,
    size=("shape", "1"),
    libraries=("transformers", "torchvision", "pillow", "jinja2"),
)


class Imported(ImportedEncoder):
    """The image side of a published captioner."""

    family: Literal["image-side"]
    weights: FilePath = Field(
        description="folder of a model, as `save_pretrained` writes it; hub/owner/name/commit is fetched from the "
        "Hugging Face hub"
    )
    processor: dict[str, Any] | None = Field(
        None, description="settings that replace settings of its image processor, such as `do_image_splitting: false`"
    )
