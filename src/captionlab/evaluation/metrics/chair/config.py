"""Config of CHAIR."""

from pydantic import Field

from captionlab.config.metrics import MetricFacts
from captionlab.config.model import FilePath, Model

FACTS = MetricFacts(
    place=6, asks=("objects",), references=True, reads=("tags", "reference_tags", "objects", "categories")
)


class Keys(Model):
    """Keys of an evaluation that ask for CHAIR."""

    objects: FilePath | None = Field(
        None,
        description="categories of objects, by which captions get CHAIR: `coco`, `toyworld`, or a file like "
        "`resources/categories/coco.yaml`; corpora without annotated objects are left out",
    )
