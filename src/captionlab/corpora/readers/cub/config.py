"""Config of the reader of captions of CUB-200-2011."""

from typing import Literal

from pydantic import Field

from captionlab.config.corpora import FOLDER, CorpusFacts, CorpusOfFiles, Folder
from captionlab.config.model import FilePath

FACTS = CorpusFacts(files=("annotations", "splits"), folders=("captions",), published=True)


class Config(CorpusOfFiles):
    """Captions of the birds of CUB-200-2011."""

    reader: Literal["cub"]
    annotations: FilePath = Field(description="`images.txt`: number and path of each image")
    splits: FilePath = Field(description="`train_test_split.txt`: number of each image, and 1 for training")
    captions: FilePath = Field(description="folder `text_c10`: a text file for each image, in a folder for each class")
    images: Folder = Field(description=FOLDER)
