"""Config of the reader of Crossmodal-3600."""

from typing import Literal

from pydantic import Field

from captionlab.config.corpora import FOLDER, LANGUAGE, CorpusFacts, CorpusOfFiles, Folder
from captionlab.config.model import FilePath

FACTS = CorpusFacts(files=("annotations",), published=True, languages=True)


class Config(CorpusOfFiles):
    """Crossmodal-3600, in one of its languages."""

    reader: Literal["xm3600"]
    annotations: FilePath = Field(description="`captions.jsonl`; its captions in `language` are read")
    language: str = Field(description=f"{LANGUAGE}; as the file writes it, such as de, fil or zh")
    images: Folder = Field(description=FOLDER)
