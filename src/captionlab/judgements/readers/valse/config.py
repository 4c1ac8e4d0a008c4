"""Config of the reader of VALSE."""

from typing import Annotated, Literal

from annotated_types import Len
from pydantic import Field

from captionlab.config.corpora import JudgementFacts, Judgements
from captionlab.config.model import FilePath, Unique

FACTS = JudgementFacts(files=("annotations",), ratings=False, leaves_out="references", foils=True)


class Config(Judgements):
    """Foils of VALSE."""

    reader: Literal["valse"]
    annotations: Annotated[list[FilePath], Len(1), Unique()] = Field(
        description="files of `data` in the repository of VALSE whose images are in the corpus; their names say the "
        "piece, so keep them"
    )
