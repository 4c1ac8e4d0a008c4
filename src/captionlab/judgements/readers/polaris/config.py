"""Config of the reader of the judgements of Polaris."""

from typing import Literal

from pydantic import Field

from captionlab.config.corpora import JudgementFacts, Judgements
from captionlab.config.model import FilePath

FACTS = JudgementFacts(files=("annotations",), ratings=True, leaves_out="references")


class Config(Judgements):
    """Judgements of Polaris."""

    reader: Literal["polaris"]
    annotations: FilePath = Field(description="`polaris_test.csv`, `polaris_val.csv` or `polaris_train.csv`")
