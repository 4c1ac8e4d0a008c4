"""Config of the reader of the files of Flickr8k and Flickr30k."""

from typing import Literal

from pydantic import Field

from captionlab.config.corpora import FOLDER, CorpusFacts, CorpusOfFiles, Folder, PathsOfSplits
from captionlab.config.model import FilePath

FACTS = CorpusFacts(files=("annotations", "splits"), published=True)


class Config(CorpusOfFiles):
    """Flickr8k and Flickr30k."""

    reader: Literal["flickr8k-token"]
    annotations: FilePath = Field(description="`Flickr8k.token.txt` or Flickr30k's `results_20130124.token`")
    splits: PathsOfSplits | None = Field(
        None,
        description="list of images for each split, such as `Flickr_8k.trainImages.txt`; by default all are of the "
        "split test",
    )
    images: Folder = Field(description=FOLDER)
