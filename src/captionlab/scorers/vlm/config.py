"""Config of an image-text-to-text model of the Hugging Face hub as a scorer."""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal

from pydantic import Field, PositiveFloat

from captionlab.config.model import FilePath
from captionlab.config.scorers import Scorer, ScorerFacts

FACTS = ScorerFacts(reads="pixels", folder=True, libraries=("transformers", "torchvision", "pillow", "jinja2"))
# Stands for the caption in a question.
CAPTION = "{caption}"


class Imported(Scorer):
    """A published image-text-to-text model: its answer about a caption, or how likely the caption is, is the score."""

    family: Literal["vlm"]
    weights: FilePath = Field(
        description="folder of a model with a chat template, as `save_pretrained` writes it; hub/owner/name/commit is "
        "fetched from the Hugging Face hub"
    )
    score: Literal["answer", "likelihood"] = Field(
        "answer",
        description="answer: probability of `answer` to `question` (VQAScore); likelihood: mean log-probability, in "
        "nats, of the tokens of the caption and its end as the answer to `chat`",
    )
    question: str = Field(
        f'Does this figure show "{CAPTION}"? Please answer yes or no.',
        description=f"question about the image and a caption, which replaces {CAPTION}",
    )
    answer: Annotated[str, Field(min_length=1)] = Field(
        "Yes", description="answer whose probability is the score; of several tokens, their geometric mean"
    )
    chat: str = Field("", description="message that shows the image and asks for a caption; empty: the image alone")
    scale: PositiveFloat = Field(1.0, description="factor on the score")
    dtype: Literal["float32", "bfloat16"] = Field("float32", description="number type of the weights")

    def mistakes(self, config: Mapping[str, Any]) -> Iterator[str]:
        """Yield a sentence for a question without a caption, and for each key that the kind of score does not read."""
        if CAPTION not in self.question:
            yield f"{{place}}.question does not contain {CAPTION}, where the caption stands; write it there"
        unread = {"answer": ("chat",), "likelihood": ("question", "answer")}[self.score]
        for key in unread:
            if getattr(self, key) != type(self).model_fields[key].default:
                yield f"{{place}}.{key} is not read with score: {self.score}; drop it"
