"""Config of the reader of Flickr8k-Expert."""

from typing import Literal

from pydantic import Field

from captionlab.config.corpora import JudgementFacts, Judgements
from captionlab.config.model import FilePath

FACTS = JudgementFacts(files=("annotations", "captions"), ratings=True, leaves_out="candidates")


class Config(Judgements):
    """Judgements of Flickr8k-Expert."""

    reader: Literal["flickr8k-expert"]
    annotations: FilePath = Field(description="`ExpertAnnotations.txt`")
    captions: FilePath = Field(description="`Flickr8k.token.txt`, the captions by their ids")
