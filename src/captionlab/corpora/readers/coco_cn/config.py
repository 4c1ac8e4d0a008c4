"""Config of the reader of COCO-CN."""

from typing import Literal

from pydantic import Field

from captionlab.config.corpora import LANGUAGE, CorpusFacts, CorpusOfFiles, Folder, PathsOfSplits
from captionlab.config.model import FilePath

FACTS = CorpusFacts(files=("annotations", "splits"), published=True)


class Config(CorpusOfFiles):
    """COCO-CN."""

    reader: Literal["coco-cn"]
    annotations: FilePath = Field(
        description="`imageid.human-written-caption.txt`, or `imageid.manually-translated-caption.txt`"
    )
    splits: PathsOfSplits = Field(description="list of images for each split, such as `coco-cn_test.txt`")
    language: str = Field("zh", description=LANGUAGE)
    images: Folder = Field(
        description="folder with COCO's folders train2014 and val2014 of images; null for texts only"
    )
