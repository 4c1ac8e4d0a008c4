"""Config of the reader of ImageCoDe."""

from typing import Literal

from pydantic import Field

from captionlab.config.corpora import CorpusFacts, CorpusOfFiles, PathsOfSplits
from captionlab.config.model import FilePath

FACTS = CorpusFacts(files=("annotations",), undescribed=True, published=True)


class Config(CorpusOfFiles):
    """ImageCoDe."""

    reader: Literal["imagecode"]
    annotations: PathsOfSplits = Field(description="a file for each split")
    images: FilePath = Field(description="folder of the images")
