"""Config of the tables of Parcalabescu et al. 2022, and of benchmarks of the same kind."""

from collections.abc import Iterator
from typing import Annotated, Literal

from annotated_types import Len
from pydantic import Field

from captionlab.config.model import Block, Model, Ref, Unique
from captionlab.config.papers import PaperFacts, listed
from captionlab.plugins import facts

FACTS = PaperFacts()
# Label of a benchmark -> name of its table.
TABLES_OF = {"VALSE": "table2_pieces", "SugarCrepe": "sugarcrepe", "Winoground": "winoground"}
Label = Literal["VALSE", "SugarCrepe", "Winoground"]
FoilSet = Annotated[str, Ref("judgements")]


class Config(Model):
    """Tables of Parcalabescu et al. 2022, *VALSE*."""

    comparable: bool = Field(
        description="whether numbers of this run are compared with the paper's; foils of the toy world never are"
    )
    judgements: Annotated[dict[Label, FoilSet | Annotated[list[FoilSet], Len(1), Unique()]], Len(1)] = Field(
        description="by the name of a benchmark (VALSE; SugarCrepe and Winoground have tables of the same kind) the "
        "judgements with its foils; several sets, such as the pieces of VALSE on several corpora, count together"
    )
    scorers: dict[str, Annotated[str, Ref("scorers")]] = Field(
        {},
        description="by the paper's label of a model (CLIP, LXMERT, ViLBERT, 12-in-1, VisualBERT) the scorer that "
        "plays it; rows of other scorers have no published numbers",
    )

    @property
    def tables(self) -> dict[str, str]:
        """Return the name of the table of each benchmark with judgements, in the order of the tables."""
        return {label: name for label, name in TABLES_OF.items() if label in self.judgements}


def run_mistakes(config: Block, where: str, block: Block) -> Iterator[str]:
    """Yield messages on sets without foils or named twice, and on scorers that score no set."""
    readers = facts("judgements.readers")
    labels: dict[str, str] = {}
    named = [(label, name) for label, names in block["judgements"].items() for name in listed(names)]
    for label, name in named:
        if not readers[config["judgements"][name]["reader"]].foils:
            with_foils = ", ".join(reader for reader, known in sorted(readers.items()) if known.foils)
            yield f"{where}.judgements.{label} is {name!r}, which has no foils; readers with foils are {with_foils}"
        if (other := labels.setdefault(name, label)) != label:
            yield f"{where}.judgements has {name!r} as {other} and as {label}; name it once"
    scoring = {scorer for _, name in named for scorer in config["judgements"][name]["scorers"]}
    for model, scorer in sorted(block["scorers"].items()):
        if scorer not in scoring:
            yield (
                f"{where}.scorers.{model} is {scorer!r}, which scores none of the judgements of the paper; add it to "
                "scorers of one of them"
            )
