"""Config of the reader of CaptionQA."""

from typing import Annotated, Literal

from annotated_types import Len
from pydantic import Field

from captionlab.config.model import FilePath
from captionlab.config.questions import Questions, ReaderFacts

FACTS = ReaderFacts(files=("annotations",))


class Config(Questions):
    """Questions of CaptionQA."""

    reader: Literal["captionqa"]
    annotations: FilePath | Annotated[list[FilePath], Len(1)] = Field(
        description="`annotations.jsonl`, or the Parquet files of one or several domains"
    )
