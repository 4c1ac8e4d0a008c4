"""Config of the tables and figures of Cafagna et al. 2022."""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any

from annotated_types import Len
from pydantic import Field

from captionlab.config.analyses import outside
from captionlab.config.model import Block, Model, Ref
from captionlab.config.papers import PaperFacts

FACTS = PaperFacts()


class Config(Model):
    """Tables and figures of Cafagna et al. 2022, *Understanding cross-modal interactions in V&L models*."""

    comparable: bool = Field(description="whether numbers of this run are compared with the paper's")
    evaluation: Annotated[str, Ref("evaluations")] = Field(
        description="evaluation with the metrics of Table 1; it has one corpus"
    )
    object_captions: Annotated[str, Ref("corpora")] = Field(
        description="corpus with object captions of images of `scene_analysis.corpus`, known by the same ids, for the "
        "examples of Table 8"
    )
    captioners: Annotated[dict[str, Annotated[str, Ref("captioners")]], Len(1)] = Field(
        description='rows of Table 1: `"1"` to `"10"` for the captioner after so many epochs, of which the paper '
        "prints every second one, and `pretrained`, the parent that they are compared with"
    )

    def mistakes(self, config: Mapping[str, Any]) -> Iterator[str]:
        """Yield a sentence for a missing section, and for each captioner that the evaluation does not have."""
        if "scene_analysis" not in config:
            yield "{place} needs what is measured; add the section `scene_analysis`"
        named = {f"captioners.{label}": name for label, name in self.captioners.items()}
        yield from outside(config, self.evaluation, "captioners", named)


def run_mistakes(config: Block, where: str, block: Block) -> Iterator[str]:
    """Yield a message if the evaluation has several corpora."""
    if len(config["evaluations"][block["evaluation"]]["corpora"]) != 1:
        yield f"{where}.evaluation is {block['evaluation']!r}, which has several corpora; Table 1 is about one"
