"""The block `papers.hl` of a config: the corpus of each axis, and the captioner that stands for each model on it."""

from collections.abc import Iterator
from typing import Any

from captionlab import paths
from captionlab.reporting.paper import Block, Needs, Paper, listed


class Hl(Paper):
    """Cafagna et al. 2023."""

    name = "hl"
    every_table = ("baselines",)
    citation = "Cafagna et al. 2023, *HL Dataset: Visually-grounded Description of Scenes, Actions and Rationales*"

    def summarised(self) -> Needs | None:
        """Return the inputs of the measurements: scores of every captioner on the corpus of its axis."""
        if not self.block:
            return None
        cells = self._cells()
        scored = {table: self._scored(table, cells) for table in ("nlg", "sacrebleu")}
        captions = [paths.captions(cell["job"]["captioner"], cell["job"]["evaluation"]) for cell in cells]
        params = {"cells": cells, "seed": self.lab.config["seed"]}
        return Needs({**scored, "captions": captions}, params, ("numpy", "sacrebleu", "scipy"))

    def tabulated(self) -> Needs:
        """Return the inputs of the tables: values and differences, and the captioners behind them."""
        measured = {table: self.measured(table) for table in ("values", "differences")}
        return Needs(measured, {"cells": self._cells()}, ("sacrebleu",), mem_mb=2000, runtime=10)

    def _cells(self) -> list[Block]:
        """Return, for each axis, model and training, the corpus and the job that captions its images."""
        cells, contexts = list[Block](), self.lab.evaluation_contexts()
        for axis, model, names in _named(self.block):
            corpus = self.block["corpora"][axis]
            for captioner in names:
                (evaluation,) = _evaluations(self.lab.config, captioner, corpus)
                job: dict[str, Any] = {"captioner": captioner, "evaluation": evaluation, **contexts[evaluation]}
                cells.append({"axis": axis, "corpus": corpus, "model": model, "job": job})
        return cells

    @staticmethod
    def _scored(table: str, cells: list[Block]) -> list[str]:
        return [paths.scores(table, cell["job"]["captioner"], cell["job"]["evaluation"]) for cell in cells]

    @staticmethod
    def mistakes(config: Block, where: str, block: Block) -> Iterator[str]:
        """Yield messages on axes without a corpus, and captioners without exactly one evaluation with SacreBLEU."""
        for axis, model, (captioner, *_) in _named(block):
            at, corpus = f"{where}.models.{model}.{axis}", block["corpora"].get(axis)
            if corpus is None:
                yield f"{at} has no corpus; add {axis!r} to {where}.corpora"
            elif len(found := _evaluations(config, captioner, corpus)) != 1:
                which = (
                    f"those are {', '.join(found)}; take it out of all but one" if found else "there is none; add one"
                )
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


PAPER = Hl
