"""Comparisons of captioners by a served model, which says which of two captions describes an image better."""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal

from pydantic import Field, PositiveInt

from captionlab.config.analyses import outside
from captionlab.config.evaluations import Captioners
from captionlab.config.model import FilePath, Ref
from captionlab.config.served import Served


class Comparison(Served):
    """A comparison of every two captioners of an evaluation by a model behind a server."""

    evaluation: Annotated[str, Ref("evaluations")] = Field(description="evaluation whose captions are compared")
    captioners: Captioners | None = Field(
        None, description="captioners of the evaluation that are compared, two or more; all by default"
    )
    prompt: FilePath | None = Field(
        None,
        description="Jinja template of the message to the model, with the variables `captions` and `references`; by "
        "default `resources/comparisons/prompt.jinja`",
    )
    shows: Literal["image", "references"] = Field(
        "image", description="what the model is shown beside the two captions: the image, or its references alone"
    )
    image_size: PositiveInt = Field(
        1024, description="most pixels of the longer side of an image; a larger image is made smaller before it is sent"
    )
    structured: bool = Field(
        True,
        description="whether the server is asked for JSON of a schema (`response_format`); without it, answers are "
        "checked against the same schema",
    )
    max_tokens: PositiveInt = Field(1024, description="largest number of tokens of an answer")
    images: PositiveInt | None = Field(
        None,
        description="largest number of images of each corpus, which are drawn at random; all by default; a larger "
        "number asks about the further images only",
    )

    def mistakes(self, config: Mapping[str, Any]) -> Iterator[str]:
        """Yield a sentence for each captioner that the evaluation does not have."""
        yield from super().mistakes(config)
        yield from outside(config, self.evaluation, "captioners", {"captioners": self.captioners or []})
