"""Config of BLIP with its head for image-text matching."""

from typing import Literal

from pydantic import Field, PositiveInt

from captionlab.config.scorers import ImportedScorer, ScorerFacts

FACTS = ScorerFacts(
    reads="pixels",
    matching={"match_index": 1, "max_tokens": 35, "lowercase": True, "strip_punctuation": False},
    libraries=("transformers", "open_clip_torch", "pillow"),
)


class Imported(ImportedScorer):
    """A published BLIP for image-text matching."""

    family: Literal["blip"]
    visual_heads: PositiveInt | None = Field(None, description="attention heads of the image tower")
