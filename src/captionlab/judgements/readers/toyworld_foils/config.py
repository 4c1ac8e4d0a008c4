"""Config of the reader of foils of the toy world."""

from typing import Annotated, Literal

from pydantic import Field

from captionlab.config.corpora import JudgementFacts, Judgements

FACTS = JudgementFacts(files=(), ratings=False, leaves_out="references", foils=True, simulated=True)


class Config(Judgements):
    """Foils that are written for images of the toy world."""

    reader: Literal["toyworld-foils"]
    split: str = Field("test", description="split of the corpus whose images get foils")
    images: Annotated[int, Field(ge=2)] = Field(200, description="largest number of images, drawn by the seed")
