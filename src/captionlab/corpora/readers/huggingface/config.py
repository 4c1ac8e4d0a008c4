"""Config of the reader of a data set of the Hugging Face hub."""

from typing import Annotated, Literal

from annotated_types import Len
from pydantic import Field, StringConstraints

from captionlab.config.corpora import CorpusFacts, CorpusOfFiles
from captionlab.config.model import FilePath, Nullable, Text, Unique

FACTS = CorpusFacts(files=(), contents="**/*.parquet", libraries=("pyarrow",))


class Config(CorpusOfFiles):
    """A data set of the Hugging Face hub."""

    reader: Literal["huggingface"]
    repository: Annotated[str, StringConstraints(pattern=r"^[^/]+/[^/]+$")] | None = Field(
        None, description="owner/name on the hub, whose files lie in hub/owner/name/revision below `data`"
    )
    revision: Text | None = Field(None, description="commit of the repository")
    folder: FilePath | None = Field(
        None, description="folder of Parquet files, or of folders with Parquet files, in place of a repository"
    )
    image: str = Field("image", description="column of the images: the hub's struct of bytes and path, bytes, or paths")
    images: FilePath | None = Field(
        None,
        description="folder that paths in the column `image` start from; the folder of the Parquet files by default",
    )
    captions: Annotated[str | Annotated[list[str], Len(1), Unique()] | None, Nullable] = Field(
        "caption",
        description="column of the captions, a text or a list of texts; `a.b` is the field b of structs in a; several "
        "columns with a caption each; null for images that nobody described",
    )
    image_id: str | None = Field(
        None,
        description="column of image ids: rows with the same id are one entry; without it each row is an image, whose "
        "id is the name of its file, or split and row",
    )
    split: str | None = Field(None, description="column of the split; by default the names of the files tell the split")
