"""Config of the reader of tars of WebDataset."""

from typing import Annotated, Literal

from annotated_types import Len
from pydantic import Field

from captionlab.config.corpora import CorpusFacts, CorpusOfFiles
from captionlab.config.model import Absent, FilePath, Nullable, Text

FACTS = CorpusFacts(files=(), patterns=("tars",))


class Config(CorpusOfFiles):
    """Tars of WebDataset."""

    reader: Literal["webdataset"]
    tars: Annotated[dict[str, FilePath], Len(1)] = Field(
        description="for each split a tar, a folder of tars, or a path with * and ? for any characters"
    )
    captions: Annotated[Text | None, Nullable, Absent] = Field(
        None,
        description="field of the .json with the caption or a list of captions, null if there are none; without this "
        "key the caption is the text of the .txt or .caption",
    )
