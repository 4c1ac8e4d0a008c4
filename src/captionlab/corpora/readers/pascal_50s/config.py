"""Config of the reader of Pascal-50S."""

from typing import Literal

from pydantic import Field

from captionlab.config.corpora import FOLDER, CorpusFacts, CorpusOfFiles, Folder
from captionlab.config.model import FilePath

FACTS = CorpusFacts(files=("annotations", "pairs"), libraries=("scipy",), published=True)


class Config(CorpusOfFiles):
    """Pascal-50S."""

    reader: Literal["pascal-50s"]
    annotations: FilePath = Field(description="`consensus_pascal.mat`: what people chose")
    pairs: FilePath = Field(description="`pair_pascal.mat`: the pairs of captions")
    images: Folder = Field(description=FOLDER)
