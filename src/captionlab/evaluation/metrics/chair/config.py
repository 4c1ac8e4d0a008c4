"""Config of CHAIR."""

from pydantic import Field

from captionlab.config.metrics import Definition, MetricFacts
from captionlab.config.model import FilePath, Model

FACTS = MetricFacts(
    place=6,
    metrics={
        "CHAIRi": Definition(
            "Share of the mentions of objects whose object is neither annotated in the image nor in its references "
            "(Rohrbach et al. 2018).",
            "%",
            "items",
        ),
        "CHAIRs": Definition(
            "Share of the captions that mention an object that is neither annotated in the image nor in its references "
            "(Rohrbach et al. 2018).",
            "%",
            "share",
        ),
        "object recall": Definition("Share of the annotated objects that captions of their image name.", "%", "items"),
    },
    asks=("objects",),
    references=True,
    reads=("tags", "reference_tags", "objects", "categories"),
)


class Keys(Model):
    """Keys of an evaluation that ask for CHAIR."""

    objects: FilePath | None = Field(
        None,
        description="categories of objects, by which captions get CHAIR: `coco`, `toyworld`, or a file like "
        "`resources/categories/coco.yaml`; corpora without annotated objects are left out",
    )
