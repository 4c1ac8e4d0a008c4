"""Config of the reader of Composite."""

from typing import Literal

from pydantic import Field

from captionlab.config.corpora import JudgementFacts, Judgements
from captionlab.config.model import FilePath

FACTS = JudgementFacts(files=("annotations",), ratings=True, leaves_out="references")


class Config(Judgements):
    """Judgements of Composite."""

    reader: Literal["composite"]
    annotations: FilePath = Field(description="`8k_correctness.csv`, `30k_correctness.csv` or `coco_correctness.csv`")
