"""Config of a corpus of the toy world."""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, NonNegativeInt
from pydantic_core import PydanticCustomError

from captionlab.config.corpora import Corpus
from captionlab.config.languages import is_english
from captionlab.config.model import Seed
from captionlab.config.names import hint
from captionlab.corpora.toyworld.domains import DOMAINS


def _known(name: str) -> str:
    if name not in DOMAINS:
        sentence = f"is {name!r}, which is not among the domains; {hint(name, DOMAINS)}"
        raise PydanticCustomError("reference", "{sentence}", {"sentence": sentence})
    return name


class Config(Corpus):
    """A corpus that the workflow renders."""

    reader: Literal["toyworld"]
    domain: Annotated[str, AfterValidator(_known)] = Field(
        description="look of the pictures and style of the captions (captionlab.corpora.toyworld.domains)"
    )
    seed: Seed = Field(description="seed of the images and captions")
    images: dict[str, NonNegativeInt] = Field(description="number of images of each split")

    def mistakes(self, config: Mapping[str, Any]) -> Iterator[str]:
        """Yield a sentence if captions in another language than English are asked for."""
        yield from super().mistakes(config)
        if not is_english(self.language):
            yield f"{{place}}.language is {self.language}, and the toy world writes English; leave it out"
