"""Config of the tables and figures of Dessì et al. 2023."""

from collections.abc import Container, Iterator, Mapping
from itertools import product
from typing import Annotated, Any, Literal

from annotated_types import Len
from pydantic import Field

from captionlab.config.analyses import outside
from captionlab.config.model import Block, Model, Ref
from captionlab.config.papers import Corpora, PaperFacts, Trainings, listed
from captionlab.papers.discritune.layouts import LAYOUTS, Layout

FACTS = PaperFacts(("study", "language"))

Kind = Literal["baselines", "rewards", "learning-rates", "hard-distractors", "retrievers", "divergence"]


class Variants(Model):
    """Captioners that differ in one part of their finetuning."""

    evaluation: Annotated[str, Ref("evaluations")] = Field(description="evaluation with the numbers")
    corpora: Corpora = Field(description="corpus by the label of a column")
    reference: str = Field(description="label that the others are compared with")
    captioners: Annotated[dict[str, Trainings], Len(2)] = Field(
        description="by the label of a row a captioner, or several that differ by the seed of their training"
    )

    def mistakes(self, config: Mapping[str, Any]) -> Iterator[str]:
        """Yield a sentence for each captioner or corpus that the evaluation does not have."""
        for section in ("captioners", "corpora"):
            named = {f"{section}.{label}": value for label, value in getattr(self, section).items()}
            yield from outside(config, self.evaluation, section, named)


class Config(Model):
    """Tables and figures of Dessì et al. 2023, *Cross-domain image captioning with discriminative finetuning*."""

    comparable: bool = Field(description="whether numbers of this run are compared with the paper's")
    captioners: Annotated[dict[str, Annotated[str, Ref("captioners")]], Len(1)] = Field(
        description="captioner by the paper's label; the row of another label has no published numbers"
    )
    corpora: Corpora = Field(
        description="corpus by the paper's label; the column of another label has no published numbers"
    )
    retrievers: Annotated[list[Annotated[str, Ref("encoders", trainings=True)]], Len(1)] | None = Field(
        None, description="columns of Table 1; numbers of the first column stand beside the paper's"
    )
    evaluations: Annotated[list[Annotated[str, Ref("evaluations")]], Len(1)] | None = Field(
        None, description="evaluations with the numbers, if a captioner and corpus are in several"
    )
    variants: Annotated[dict[Kind, Variants], Len(1)] | None = Field(
        None,
        description="tables of captioners that differ in one part of their finetuning: baselines (Table 8), rewards "
        "(Table 9), learning-rates (section 4.1, without printed numbers), hard-distractors (Tables 12 and "
        "13), retrievers and divergence (beyond the paper)",
    )

    @property
    def layouts(self) -> list[Layout]:
        """Return the layouts of the tables for which there are captioners, corpora or variants."""
        asked: dict[str, Container[str]] = {"captioners": self.captioners, "corpora": self.corpora}
        asked["variants"] = self.variants or {}
        return [layout for layout in LAYOUTS if layout.is_asked(asked)]


def run_mistakes(config: Block, where: str, block: Block) -> Iterator[str]:
    """Yield messages on captioners without an evaluation, captions in several, and variants that do not match."""
    evaluated = {name for evaluation in config["evaluations"].values() for name in evaluation["captioners"]}
    for label, name in block["captioners"].items():
        if name not in evaluated:
            yield f"{where}.captioners.{label} is {name!r}, which no evaluation names; add it to one"
    # A table shows one value in each place, so its evaluation must be unambiguous.
    shown = {name: config["evaluations"][name] for name in block.get("evaluations") or config["evaluations"]}
    for captioner, corpus in product(*(dict.fromkeys(block[key].values()) for key in ("captioners", "corpora"))):
        found = [n for n, e in shown.items() if captioner in e["captioners"] and corpus in e["corpora"]]
        if len(found) > 1:
            yield (
                f"{where}: the captions of {captioner!r} on {corpus!r} are in the evaluations "
                f"{' and '.join(found)}; name the one that its tables show under {where}.evaluations"
            )
            break
    for name, variants in block.get("variants", {}).items():
        yield from _variants_mistakes(config, f"{where}.variants.{name}", variants)


def _variants_mistakes(config: Block, where: str, variants: Block) -> Iterator[str]:
    if variants["reference"] not in variants["captioners"]:
        yield f"{where}.reference is {variants['reference']!r}, which is not among the labels of its captioners"
    seeds = {label: len(listed(names)) for label, names in variants["captioners"].items()}
    wanted = seeds.get(variants["reference"], 1)
    for label, number in seeds.items():
        if wanted > 1 and number not in (1, wanted):
            yield (
                f"{where}.captioners.{label} has {number} captioners and the reference {wanted}; they are compared "
                "seed by seed, so name as many, or one"
            )
    if not config["evaluations"][variants["evaluation"]]["retrievers"]:
        yield f"evaluations.{variants['evaluation']} needs `retrievers`: {where} is about what they find"
