"""Config of an encoder that scores."""

from typing import Literal

from pydantic import Field, PositiveFloat

from captionlab.config.scorers import AdoptedScorer, ScorerFacts

FACTS = ScorerFacts(reads="embeddings")


class Adopted(AdoptedScorer):
    """The cosine of an image and a caption by an encoder."""

    family: Literal["clip"]
    prompt: str = Field("", description="text before a caption; in CLIPScore 'A photo depicts '")
    scale: PositiveFloat = Field(100, description="factor on the cosine; in CLIPScore 2.5")
    clamp: bool = Field(False, description="whether scores below 0 become 0, as in CLIPScore")
