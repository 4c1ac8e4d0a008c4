"""Config of a captioner of the Hugging Face hub."""

from typing import Annotated, Any, Literal

from pydantic import Field

from captionlab.config.captioners import (
    Answer,
    CaptionerFacts,
    ImportedCaptioner,
    ReadsPatchesOrPixels,
    TrainedCaptioner,
)
from captionlab.config.model import FilePath, Model

FACTS = CaptionerFacts(
    reads="patches-or-pixels",
    size="visual_size",
    libraries=("transformers", "torchvision", "pillow", "jinja2"),
    folder=True,
    generates=True,
    finetuned_as={"log_prob": "mean-with-end", "freeze_embeddings": False},
)


class Architecture(Model):
    """Sizes of a captioner of the hub."""

    config: dict[str, Any] = Field(
        description="sizes of a `model_type` git or llava, as its config.json has them, without its vocabulary"
    )
    vocabulary: Annotated[int, Field(ge=257)] = Field(
        description="largest number of tokens; 256 are bytes, one is the end"
    )


class Imported(ReadsPatchesOrPixels, ImportedCaptioner):
    """A published captioner of the hub."""

    family: Literal["transformers"]
    weights: FilePath = Field(
        description="folder of a model, as `save_pretrained` writes it; hub/owner/name/commit is fetched from the "
        "Hugging Face hub"
    )
    prompt: str = Field(
        "", description="text before the caption, as the processor of the type takes it, with its placeholder of images"
    )
    chat: str | None = Field(
        None, description="message of a user who shows the image, in the chat template of the model"
    )
    answer: Answer | None = Field(None, description="part of the answer that is the caption")
    processor: dict[str, Any] | None = Field(
        None, description="settings that replace settings of its image processor, such as `do_image_splitting: false`"
    )
    dtype: Literal["float32", "bfloat16"] = Field("float32", description="number type of the weights")


class Trained(ReadsPatchesOrPixels, TrainedCaptioner):
    """A captioner of the hub that is trained here from random weights."""

    family: Literal["transformers"]
    architecture: Architecture = Field(description="sizes")
