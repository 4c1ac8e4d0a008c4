"""Config of the family NAME of captioners."""

from typing import Literal

from pydantic import Field

from captionlab.config.captioners import WriterFacts, WritingCaptioner

FACTS = WriterFacts()


class Config(WritingCaptioner):
    """A captioner that names the strongest colour of an image."""

    family: Literal["NAME"]
    start: str = Field("a picture in", description="words before the colour")
