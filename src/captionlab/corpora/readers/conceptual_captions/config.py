"""Config of the reader of Conceptual Captions."""

from typing import Literal

from pydantic import Field

from captionlab.config.corpora import FOLDERS, CorpusFacts, CorpusOfFiles, Folders, PathsOfSplits

FACTS = CorpusFacts(files=("annotations",), published=True)


class Config(CorpusOfFiles):
    """Conceptual Captions."""

    reader: Literal["conceptual-captions"]
    annotations: PathsOfSplits = Field(description="a file for each split")
    images: Folders = Field(description=FOLDERS)
