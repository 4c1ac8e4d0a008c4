"""Config of the reader of VizWiz-Captions."""

from typing import Annotated, Literal

from pydantic import Field

from captionlab.config.corpora import FOLDERS, CorpusFacts, CorpusOfFiles, Folders, PathsOfSplits
from captionlab.config.model import Unique

FACTS = CorpusFacts(files=("annotations",), published=True)


class Config(CorpusOfFiles):
    """VizWiz-Captions."""

    reader: Literal["vizwiz"]
    annotations: PathsOfSplits = Field(description="a file for each split")
    images: Folders = Field(description=FOLDERS)
    keep: Annotated[list[Literal["rejected", "precanned"]], Unique()] = Field(
        [], description="marked captions that are kept: `is_rejected`, `is_precanned`; by default both are left out"
    )
