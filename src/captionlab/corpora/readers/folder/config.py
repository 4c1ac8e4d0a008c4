"""Config of the reader of a folder of images."""

from typing import Annotated, Literal

from annotated_types import Len
from pydantic import Field

from captionlab.config.corpora import CorpusFacts, CorpusOfFiles
from captionlab.config.model import FilePath, Nullable, Portion

FACTS = CorpusFacts(files=("captions",), contents="**/")


class Config(CorpusOfFiles):
    """A folder of images."""

    reader: Literal["folder"]
    images: FilePath = Field(description="folder of the images, which may have folders in it")
    captions: Annotated[FilePath | None, Nullable] = Field(
        None,
        description="CSV, TSV or JSON lines with `file` (from `images` on), `caption`, perhaps `split`; null for "
        "images that nobody described",
    )
    splits: Literal["folders"] | Annotated[dict[str, Portion], Len(1)] | None = Field(
        None,
        description="folders: the folders in `images` are the splits; or the share of the images that each split gets, "
        "by their names; by default all are of the split test, or of what the captions say",
    )
