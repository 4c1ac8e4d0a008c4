"""The contract of a paper: what it asks of the graph of a run, and what it makes of that.

A paper is a folder `captionlab/papers/<name>/`, whose name is in the list of captionlab.papers:

    paper.py       PAPER, a subclass of `Paper`; the graph is built with it, so it imports nothing that is slow
    summary.py     summarise(inputs, params) -> a Summary, where the paper has measurements of its own
    tables.py      TABLES, functions (inputs, params, provenance) -> tables, each of what its function reads
    figures.py     drawings(inputs, params, style) -> by the name of a figure what draws it for a width in inches
    evidence.py    evidence(inputs, params) -> the Evidence that its claims are judged by
    published.csv  what it prints, claims.yaml what it claims, schema.yaml its block of a config (`papers.<name>`),
    report/        the captions of its figures in Snakemake's report

Each function gets the files and parameters of its `Needs` by name, with those that every paper has: the block of the
config as the parameter `config`, and for tables, figures and evidence the file `published`.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from captionlab import paths

Block = dict[str, Any]
# The files of a figure by how their names end, with the width in config/plotting.yaml that each is drawn for.
FIGURE_FILES = {".png": "page", ".pdf": "page", ".svg": "page", "_column.pdf": "column"}


@dataclass(frozen=True)
class Needs:
    """What a job of a paper reads, what else its numbers depend on, and what it asks of a machine."""

    inputs: Mapping[str, str | Sequence[str]]
    params: Mapping[str, Any] = field(default_factory=dict)
    libraries: Sequence[str] = ()  # those whose versions matter to its numbers
    mem_mb: int = 4000
    runtime: int = 30  # minutes
    modules: Sequence[str] = ()  # those that it loads by name


@dataclass(frozen=True)
class Figure:
    """A figure in Snakemake's report: its label, and the stem of the file in report/ that has its caption."""

    label: str
    caption: str


class Paper:
    """A paper and its block of a config, which is empty where the config does not ask for it."""

    name: ClassVar[str]
    citation: ClassVar[str]
    every_table: ClassVar[Sequence[str]] = ()
    every_figure: ClassVar[Mapping[str, str]] = {}
    """names without the paper's, of figures with their labels, where the paper's block asks for all of them"""

    def __init__(self, lab: Any):
        self.lab = lab  # the graph: captionlab.workflow.experiments.Experiments
        self.block: Block = lab.config.get("papers", {}).get(self.name, {})

    def tables(self) -> list[str]:
        """Names of the tables that the config asks for."""
        return [f"{self.name}_{table}" for table in self.every_table] if self.block else []

    def figures(self) -> dict[str, Figure]:
        """The figures that the config asks for, by name; one that has a number shares its caption with its number."""
        figures = self.every_figure if self.block else {}
        return {f"{self.name}_{name}": Figure(label, name.split("_")[0]) for name, label in figures.items()}

    def summarised(self) -> Needs | None:
        """What the paper's own values and differences are made of; None where it has none."""
        return None

    def tabulated(self) -> Needs:
        """What its tables are made of."""
        return Needs({})

    def plotted(self) -> Needs:
        """What its figures are made of."""
        return Needs({})

    def judged(self) -> Needs:
        """What its claims are judged by."""
        return Needs({"differences": self.measured("differences")} if self.summarised() else {})

    def compared(self) -> dict[str, str]:
        """By captioner another that it is to be compared with in every evaluation, besides its parent."""
        return {}

    def measured(self, table: str) -> str:
        """The paper's own table of values or of differences."""
        return paths.reporting(f"{self.name}/{table}.parquet")

    @staticmethod
    def mistakes(config: Block, where: str, block: Block) -> Iterator[str]:
        """One sentence for each thing in the paper's block that its schema does not see; all names lead somewhere."""
        yield from ()


def listed(names: str | Sequence[str]) -> list[str]:
    """One name, or several, as a list."""
    return [names] if isinstance(names, str) else list(names)
