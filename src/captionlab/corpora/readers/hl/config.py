"""Config of the reader of HL (high-level captions)."""

from typing import Literal

from pydantic import Field, PositiveInt

from captionlab.config.corpora import FOLDERS, CorpusFacts, CorpusOfFiles, Folders, PathsOfSplits
from captionlab.config.model import Model, Seed

FACTS = CorpusFacts(files=("annotations",), scenes=True, published=True)


class Drawn(Model):
    """Images of the split train that become the split val."""

    images: PositiveInt = Field(description="number of images")
    seed: Seed = Field(description="seed of the draw")


class Config(CorpusOfFiles):
    """HL (high-level captions)."""

    reader: Literal["hl"]
    annotations: PathsOfSplits = Field(description="a file for each split")
    images: Folders = Field(description=FOLDERS)
    text: Literal["object", "scene", "action", "rationale", "narrative"] = Field(
        "object",
        description="captions that are the references: object captions of COCO, or captions of an axis; `narrative` is "
        "in files of HL-narratives",
    )
    validation: Drawn | None = Field(None, description="images of the split train that become the split val")
