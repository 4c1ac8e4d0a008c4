"""Config of the reader of nocaps."""

from typing import Literal

from pydantic import Field

from captionlab.config.corpora import FOLDER, CorpusFacts, CorpusOfFiles, Folder
from captionlab.config.model import FilePath

FACTS = CorpusFacts(files=("annotations",), published=True)


class Config(CorpusOfFiles):
    """Nocaps."""

    reader: Literal["nocaps"]
    annotations: FilePath = Field(description="file that is read")
    images: Folder = Field(description=FOLDER)
    domain: Literal["in-domain", "near-domain", "out-domain"] | None = Field(
        None, description="domain whose images are read; all images by default"
    )
