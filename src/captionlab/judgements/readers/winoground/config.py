"""Config of the reader of Winoground."""

from typing import Literal

from pydantic import Field

from captionlab.config.corpora import JudgementFacts, Judgements
from captionlab.config.model import FilePath

FACTS = JudgementFacts(files=("annotations",), ratings=False, leaves_out="references", foils=True)


class Config(Judgements):
    """Captions and images of Winoground."""

    reader: Literal["winoground"]
    annotations: FilePath = Field(description="`examples.jsonl`")
