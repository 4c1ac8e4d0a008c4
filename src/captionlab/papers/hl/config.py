"""Config of the table of Cafagna et al. 2023."""

from collections.abc import Iterator
from typing import Annotated, Literal

from annotated_types import Len
from pydantic import Field

from captionlab.config.model import Block, Model, Ref
from captionlab.config.papers import PaperFacts, SeeingTrainings, listed

FACTS = PaperFacts()

Axis = Literal["scene", "action", "rationale", "narrative", "object"]


class Config(Model):
    """Tables of Cafagna et al. 2023, *HL dataset*."""

    comparable: bool = Field(description="whether numbers of this run are compared with the paper's")
    corpora: Annotated[dict[Axis, Annotated[str, Ref("corpora")]], Len(1)] = Field(
        description="by axis (scene, action, rationale, narrative; object: COCO's captions, for which the paper has no "
        "numbers) the corpus with its captions"
    )
    models: Annotated[dict[str, Annotated[dict[Axis, SeeingTrainings], Len(1)]], Len(1)] = Field(
        description="by the paper's label of a model (GIT, BLIP, ClipCap) and axis the captioner that plays it, or "
        "several that differ by the seed of their training; one evaluation with `sacrebleu: true` has it and the "
        "corpus of the axis. The row of another label has no published numbers"
    )


def run_mistakes(config: Block, where: str, block: Block) -> Iterator[str]:
    """Yield messages on axes without a corpus, and captioners without exactly one evaluation with SacreBLEU."""
    for axis, model, (captioner, *_) in _named(block):
        at, corpus = f"{where}.models.{model}.{axis}", block["corpora"].get(axis)
        if corpus is None:
            yield f"{at} has no corpus; add {axis!r} to {where}.corpora"
        elif len(found := _evaluations(config, captioner, corpus)) != 1:
            which = f"those are {', '.join(found)}; take it out of all but one" if found else "there is none; add one"
            yield (
                f"{at} is {captioner!r}: an evaluation with `sacrebleu: true` must have it and corpus {corpus!r}, "
                f"and {which}"
            )


def _named(block: Block) -> Iterator[tuple[str, str, list[str]]]:
    """Yield the axis, model and captioners (trainings) of each entry of a block."""
    for model, captioners in sorted(block["models"].items()):
        for axis, names in sorted(captioners.items()):
            yield axis, model, listed(names)


def _evaluations(config: Block, captioner: str, corpus: str) -> list[str]:
    """Return the evaluations of a config that compute SacreBLEU of the captioner's captions on the corpus."""
    return [
        name
        for name, asked in sorted(config["evaluations"].items())
        if asked.get("sacrebleu") and captioner in asked["captioners"] and corpus in asked["corpora"]
    ]
