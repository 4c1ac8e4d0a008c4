"""Config of the reader NAME of corpora."""

from typing import Literal

from pydantic import Field

from captionlab.config.corpora import FOLDER, CorpusFacts, CorpusOfFiles, Folder
from captionlab.config.model import FilePath

FACTS = CorpusFacts(files=("annotations",))


class Config(CorpusOfFiles):
    """Images with captions in one JSON file."""

    reader: Literal["NAME"]
    annotations: FilePath = Field(description="JSON file of the images")
    images: Folder = Field(description=FOLDER)
