"""Config of the reader of questions in JSON lines."""

from typing import Literal

from pydantic import Field

from captionlab.config.model import FilePath
from captionlab.config.questions import Questions, ReaderFacts

FACTS = ReaderFacts(files=("annotations",))


class Config(Questions):
    """Questions in JSON lines."""

    reader: Literal["jsonl"]
    annotations: FilePath = Field(
        description="file with a question on each line: `image_id`, `question`, `answer`, optional `options` and `kind`"
    )
