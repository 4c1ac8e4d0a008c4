"""Config of the reader of Pascal-50S."""

from typing import Literal

from pydantic import Field

from captionlab.config.corpora import JudgementFacts, Judgements
from captionlab.config.model import FilePath

FACTS = JudgementFacts(files=("annotations", "pairs"), ratings=False, leaves_out="references", libraries=("scipy",))


class Config(Judgements):
    """Judgements of Pascal-50S."""

    reader: Literal["pascal-50s"]
    annotations: FilePath = Field(description="`consensus_pascal.mat`: what people chose")
    pairs: FilePath = Field(description="`pair_pascal.mat`: the pairs of captions")
