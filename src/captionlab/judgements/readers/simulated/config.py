"""Config of the reader of simulated judges."""

from typing import Annotated, Literal

from pydantic import Field

from captionlab.config.corpora import JudgementFacts, Judgements

FACTS = JudgementFacts(files=(), ratings=True, leaves_out="references", simulated=True)


class Config(Judgements):
    """Judgements of simulated judges."""

    reader: Literal["simulated"]
    split: str = Field("test", description="split of the corpus whose images are judged")
    images: Annotated[int, Field(ge=2)] = Field(100, description="largest number of images, drawn by the seed")
