"""The papers of a config as jobs: what a paper says that it needs (captionlab.reporting.paper) is given to a rule."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

from snakemake.io import directory, report

import captionlab.papers
from captionlab import paths
from captionlab.papers import PAPERS
from captionlab.plugins import PluginError
from captionlab.reporting.paper import FIGURE_FILES, Needs, Paper
from captionlab.reporting.render import FORMATS
from captionlab.workflow.basis import Basis, on_disk
from captionlab.workflow.blocks import Block, normalise

FOLDER = Path(captionlab.papers.__file__).parent
# What every paper has.
PARTS = ("paper.py", "config.py", "tables.py", "evidence.py", "claims.yaml", "published.csv")


@dataclass(frozen=True)
class Job:
    """A job that a paper asks for."""

    name: str
    inputs: Block
    outputs: Block
    params: Block
    needs: Needs
    message: str


# What a paper needs, and the inputs, outputs and parameters that its job has beside.
_Asked = tuple[Needs, Block, Block, Block]


class Papers:
    """The papers that a config may ask for, in the order of their list; `provenance` is what footers say of the run."""

    def __init__(self, basis: Basis, papers: Sequence[Paper], provenance: Block):
        self.basis, self.papers, self.provenance = basis, papers, provenance
        self.asked = [paper for paper in papers if paper.block]

    def jobs(self, verb: str) -> Iterator[Job]:
        """What every paper has to summarise, tabulate or plot."""
        module, what, asked = {
            "summarise": ("summary", "measure what is", self._summary),
            "tabulate": ("tables", "make the tables", self._tabulation),
            "plot": ("figures", "draw the figures", self._drawing),
        }[verb]
        for paper in self._in_loops():
            if asks := asked(paper):
                needs, inputs, outputs, params = asks
                loaded = f"captionlab.papers.{paper.name}.{module}"
                loads = dict.fromkeys([loaded, *needs.modules], ())
                software = self.basis.software(f"{verb}_paper", *needs.libraries, loads=loads)
                params = {**software, "module": loaded, **params}
                name, message = f"{verb}_{paper.name}", f"{what} of the {paper.name} paper"
                outputs = {**outputs, "provenance": paths.provenance(name)}
                yield Job(name, {**needs.inputs, **inputs}, outputs, params, needs, message)

    def _in_loops(self) -> list[Paper]:
        return [paper for paper in self.papers if not (self._folder(paper) / "rules.smk").is_file()]

    def with_rules(self) -> list[str]:
        """Return the papers that the config asks for and that bring their own rules."""
        return [paper.name for paper in self.papers if paper.tables() and paper not in self._in_loops()]

    def tables(self) -> list[str]:
        """Every file of every table."""
        return [path for paper in self.papers for path in self._files(paper)]

    def numbers(self) -> list[str]:
        """The rows of every table, in which a published number stands beside ours with a verdict."""
        return [path for path in self.tables() if path.endswith(".csv")]

    def figures(self) -> list[str]:
        """Every file of every figure."""
        return [paths.figure(*one) for paper in self.papers for one in product(paper.figures(), FIGURE_FILES)]

    def pictures(self) -> list[str]:
        """The folders of pictures that tables in LaTeX show."""
        return [self._pictures(paper) for paper in self.papers if paper.tables()]

    def labels(self) -> dict[str, str]:
        """What each figure shows."""
        return {name: figure.label for paper in self.papers for name, figure in paper.figures().items()}

    def compared(self) -> dict[str, str]:
        """Captioners that papers compare in every evaluation, besides those with their parents."""
        return {name: other for paper in self.papers for name, other in paper.compared().items()}

    def citations(self) -> dict[str, str]:
        """How each paper is cited."""
        return {paper.name: paper.citation for paper in self.papers}

    def asked_for(self) -> dict[str, Block]:
        """How each paper of the config is cited, and whether its published numbers may be held against the run's."""
        return {p.name: {"citation": p.citation, "comparable": bool(p.block.get("comparable"))} for p in self.asked}

    # ---------------------------------------------------------------------------------------------- claims
    def evidence(self) -> dict[str, Any]:
        """The files that claims of the config's papers are judged by, each named after its paper."""
        return {
            f"{paper.name}_{name}": files
            for paper in self.asked if paper in self._in_loops()
            for name, files in {
                **paper.judged().inputs,
                "claims": on_disk(self._folder(paper) / "claims.yaml"),
                "published": self._published(paper),
                **({"cells": self._cells(paper)} if paper.tables() else {}),
            }.items()
        }

    def evidence_params(self) -> dict[str, Block]:
        """By paper what its evidence depends on beside."""
        return {paper.name: normalise({**paper.judged().params, "config": paper.block}) for paper in self.asked if paper in self._in_loops()}

    # ----------------------------------------------------------------------------------------------- parts
    def _summary(self, paper: Paper) -> _Asked | None:
        if (needs := paper.summarised()) is None:
            return None
        # It says which part of the block it depends on.
        return needs, {}, {t: paper.measured(t) for t in ("values", "differences")}, normalise(needs.params)

    def _tabulation(self, paper: Paper) -> _Asked | None:
        if not paper.tables():
            return None
        needs = paper.tabulated()
        params = {"config": normalise(paper.block), **normalise(needs.params), "provenance": self.provenance}
        outputs = {"tables": self._files(paper), "pictures": directory(self._pictures(paper))}
        outputs["cells"] = self._cells(paper)
        return needs, {"published": self._published(paper)}, outputs, params

    def _drawing(self, paper: Paper) -> _Asked | None:
        if not paper.figures():
            return None
        needs = paper.plotted()
        inputs = {"published": self._published(paper), "style": on_disk(self.basis.root / "config" / "plotting.yaml")}
        return needs, inputs, self._figures(paper), {"config": normalise(paper.block), **normalise(needs.params)}

    def _published(self, paper: Paper) -> Any:
        return on_disk(self._folder(paper) / "published.csv")

    def _folder(self, paper: Paper) -> Path:
        return self.basis.root / "src" / "captionlab" / "papers" / paper.name

    def _files(self, paper: Paper) -> list[str]:
        return [paths.reporting(f"{paper.name}/{name}.{ending}") for name in paper.tables() for ending in FORMATS]

    @staticmethod
    def _pictures(paper: Paper) -> str:
        return paths.reporting(f"{paper.name}/{paths.PICTURES}")

    @staticmethod
    def _cells(paper: Paper) -> str:
        return paths.reporting(f"{paper.name}/cells.parquet")

    def _figures(self, paper: Paper) -> dict[str, list[Any]]:
        """The files of each figure, of which the first, for screens, is in the report."""
        made = {}
        for name, figure in paper.figures().items():
            shown, *others = (paths.figure(name, ending) for ending in FIGURE_FILES)
            about = {"category": paper.name, "subcategory": "figures", "labels": {"figure": figure.label}}
            caption = str(self._folder(paper) / "report" / f"{figure.caption}.rst")
            made[name] = [report(shown, caption=caption, **about), *others]
        return made


def check_papers() -> None:
    """Raise PluginError for a paper whose folder has no usable name or lacks what every paper has."""
    for name in PAPERS:
        if not re.fullmatch("[a-z0-9]+", name):
            raise PluginError(f"captionlab.papers: the name {name!r} must be of lower-case letters and digits")
        if missing := [file for file in PARTS if not (FOLDER / name / file).is_file()]:
            raise PluginError(f"{FOLDER / name} lacks {missing[0]}; captionlab.reporting.paper says what a paper needs")
