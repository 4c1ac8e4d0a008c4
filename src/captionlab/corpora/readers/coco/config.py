"""Config of the reader of COCO captions."""

from typing import Literal

from pydantic import Field

from captionlab.config.corpora import FOLDERS, CorpusFacts, CorpusOfFiles, Folders, PathsOfSplits

FACTS = CorpusFacts(files=("annotations", "instances"), published=True)


class Config(CorpusOfFiles):
    """COCO captions."""

    reader: Literal["coco"]
    annotations: PathsOfSplits = Field(description="a file for each split")
    images: Folders = Field(description=FOLDERS)
    instances: PathsOfSplits | None = Field(None, description="boxes: a file for each split that has them")
