"""Config of the reader of TextCaps."""

from typing import Literal

from pydantic import Field

from captionlab.config.corpora import FOLDERS, CorpusFacts, CorpusOfFiles, Folders, PathsOfSplits

FACTS = CorpusFacts(files=("annotations",), published=True)


class Config(CorpusOfFiles):
    """TextCaps."""

    reader: Literal["textcaps"]
    annotations: PathsOfSplits = Field(description="a file for each split")
    images: Folders = Field(description=FOLDERS)
