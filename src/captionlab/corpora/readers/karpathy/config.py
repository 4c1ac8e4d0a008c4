"""Config of the reader of Karpathy's splits."""

from typing import Literal

from pydantic import Field

from captionlab.config.corpora import FOLDER, CorpusFacts, CorpusOfFiles, Folder
from captionlab.config.model import FilePath

FACTS = CorpusFacts(files=("annotations",), published=True)


class Config(CorpusOfFiles):
    """Karpathy's splits."""

    reader: Literal["karpathy"]
    annotations: FilePath = Field(description="file that is read")
    images: Folder = Field(description=FOLDER)
