"""Config of the reader of Flickr8k-CF."""

from typing import Literal

from pydantic import Field

from captionlab.config.corpora import JudgementFacts, Judgements
from captionlab.config.model import FilePath

FACTS = JudgementFacts(files=("annotations", "captions"), ratings=True, leaves_out="references")


class Config(Judgements):
    """Judgements of Flickr8k-CF."""

    reader: Literal["flickr8k-cf"]
    annotations: FilePath = Field(description="`CrowdFlowerAnnotations.txt`")
    captions: FilePath = Field(description="`Flickr8k.token.txt`, the captions by their ids")
