"""Config of the reader of Concadia."""

from typing import Literal

from pydantic import Field

from captionlab.config.corpora import FOLDER, CorpusFacts, CorpusOfFiles, Folder
from captionlab.config.model import FilePath

FACTS = CorpusFacts(files=("annotations",), published=True)


class Config(CorpusOfFiles):
    """Concadia."""

    reader: Literal["concadia"]
    annotations: FilePath = Field(description="file that is read")
    images: Folder = Field(description=FOLDER)
    text: Literal["caption", "description"] = Field(description="text of an image that is its reference")
