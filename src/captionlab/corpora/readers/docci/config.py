"""Config of the reader of DOCCI."""

from typing import Literal

from pydantic import Field

from captionlab.config.corpora import FOLDER, CorpusFacts, CorpusOfFiles, Folder
from captionlab.config.model import FilePath

FACTS = CorpusFacts(files=("annotations",), published=True)


class Config(CorpusOfFiles):
    """DOCCI."""

    reader: Literal["docci"]
    annotations: FilePath = Field(description="`docci_descriptions.jsonlines`")
    images: Folder = Field(description=FOLDER)
