"""Config of the reader of FOIL."""

from typing import Literal

from pydantic import Field

from captionlab.config.corpora import JudgementFacts, Judgements
from captionlab.config.model import FilePath

FACTS = JudgementFacts(files=("annotations",), ratings=False, leaves_out="references", foils=True)


class Config(Judgements):
    """Judgements of FOIL."""

    reader: Literal["foil"]
    annotations: FilePath = Field(description="`foilv1.0_test_2017.json`")
