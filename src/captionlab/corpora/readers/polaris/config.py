"""Config of the reader of Polaris."""

from typing import Literal

from pydantic import Field

from captionlab.config.corpora import FOLDER, CorpusFacts, CorpusOfFiles, Folder
from captionlab.config.model import FilePath

FACTS = CorpusFacts(files=("annotations",), published=True)


class Config(CorpusOfFiles):
    """Polaris."""

    reader: Literal["polaris"]
    annotations: FilePath = Field(description="`polaris_test.csv`, `polaris_val.csv` or `polaris_train.csv`")
    images: Folder = Field(description=FOLDER)
