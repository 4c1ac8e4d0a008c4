"""Config of the reader of Multi30k."""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal

from annotated_types import Len
from pydantic import Field

from captionlab.config.corpora import FOLDERS, LANGUAGE, CorpusFacts, CorpusOfFiles, Folders, PathsOfSplits
from captionlab.config.model import FilePath

FACTS = CorpusFacts(files=("lists", "annotations"), published=True)


class Config(CorpusOfFiles):
    """Multi30k, in one of its languages."""

    reader: Literal["multi30k"]
    lists: PathsOfSplits = Field(
        description="list of the images of each split, such as `val.txt` of task 1 or `train_images.txt` of task 2"
    )
    annotations: dict[str, Annotated[list[FilePath], Len(1)]] = Field(
        description="files of captions of each split, each with a line for each image of its list: of task 1 one file, "
        "such as `val.de`, of task 2 five, `train.1.de` to `train.5.de`"
    )
    language: str = Field(description=LANGUAGE)
    images: Folders = Field(description=FOLDERS)

    def mistakes(self, config: Mapping[str, Any]) -> Iterator[str]:
        """Yield a sentence for each split that has a list of images, or captions, and lacks the other."""
        yield from super().mistakes(config)
        for split in sorted(self.lists.keys() ^ self.annotations.keys()):
            lacks, has = ("annotations", "lists") if split in self.lists else ("lists", "annotations")
            yield f"{{place}}.{lacks} lacks the split {split!r}, which {has} has; add it, or drop it there"
