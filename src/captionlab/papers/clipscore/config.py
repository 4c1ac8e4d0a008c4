"""Config of the tables of Hessel et al. 2021."""

from collections.abc import Iterator
from typing import Annotated, Literal

from annotated_types import Len
from pydantic import Field

from captionlab.config.model import Block, Model, Ref, Unique
from captionlab.config.papers import PaperFacts, listed
from captionlab.plugins import facts

FACTS = PaperFacts()
# Name of a table -> the paper's labels of its judgements, which are ratings of captions or pairs of captions.
OF_RATINGS = {
    "table1_expert": ("Flickr8k-Expert",),
    "table2_cf": ("Flickr8k-CF",),
    "table3_composite": ("Composite",),
}
OF_PAIRS = {"table4_pascal": ("Pascal-50S",), "table5_foil": ("FOIL-1", "FOIL-4")}
JUDGED_TABLES = {**OF_RATINGS, **OF_PAIRS}
RATED = [label for labels in OF_RATINGS.values() for label in labels]
Label = Literal["Flickr8k-Expert", "Flickr8k-CF", "Composite", "Pascal-50S", "FOIL-1", "FOIL-4"]


JudgedSet = Annotated[str, Ref("judgements")]


class Config(Model):
    """Tables of Hessel et al. 2021, *CLIPScore*."""

    comparable: bool = Field(
        description="whether numbers of this run are compared with the paper's; simulated judgements are never compared"
    )
    judgements: Annotated[dict[Label, JudgedSet | Annotated[list[JudgedSet], Len(1), Unique()]], Len(1)] = Field(
        description="by the paper's label judgements: Flickr8k-Expert (Table 1), Flickr8k-CF (Table 2), Composite "
        "(Table 3), Pascal-50S (Table 4), FOIL-1 or FOIL-4 (Table 5, with one and with four references); judgements "
        "of several sets count together"
    )
    encoder: Annotated[str, Ref("encoders")] = Field(
        description="encoder whose CLIPScore stands beside the paper's; rows of other encoders have no published "
        "numbers"
    )

    @property
    def tables(self) -> dict[str, list[Label]]:
        """Return for each table that has judgements their labels."""
        found = {
            name: [label for label in labels if label in self.judgements] for name, labels in JUDGED_TABLES.items()
        }
        return {name: labels for name, labels in found.items() if labels}


def run_mistakes(config: Block, where: str, block: Block) -> Iterator[str]:
    """Yield messages on sets of judgements without CLIPScore by the encoder, of the wrong kind, or named twice."""
    readers = facts("judgements.readers")
    labels: dict[str, str] = {}
    named = ((label, name) for label, names in block["judgements"].items() for name in listed(names))
    for label, name in named:
        if block["encoder"] not in config["judgements"][name]["clipscore"]:
            yield (
                f"{where}.encoder is {block['encoder']!r}, which gives no CLIPScore to judgements.{name}; "
                "add it there to clipscore"
            )
        if readers[config["judgements"][name]["reader"]].ratings != (label in RATED):
            kinds = ("ratings", "pairs") if label in RATED else ("pairs", "ratings")
            yield (
                f"{where}.judgements.{label} is {name!r}, a set of {kinds[1]} of captions; {label} has {kinds[0]}, "
                f"so name a set of {kinds[0]}"
            )
        if (other := labels.setdefault(name, label)) != label:
            yield f"{where}.judgements has {name!r} as {other} and as {label}; name it once"
