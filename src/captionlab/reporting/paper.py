"""The interface of a paper: its requests to the workflow of a run, and its tables, figures and claims.

A paper is a folder `captionlab/papers/<name>/`, whose name is in the list of captionlab.papers:

    paper.py       PAPER, a subclass of `Paper`; the workflow imports it, so it must not import slow modules
    summary.py     summarise(inputs, params) -> rows of values, rows of differences, tables whose metadata name the
                   device; only if the paper has measurements of its own
    tables.py      TABLES, functions (inputs, params, provenance) -> the tables that the function makes
    figures.py     drawings(inputs, params, style) -> name of a figure -> function that draws it for a width in inches
    evidence.py    evidence(inputs, params) -> the Evidence for the paper's claims
    published.csv  published numbers
    claims.yaml    claims of the paper
    schema.yaml    schema of the block `papers.<name>` of a config
    report/        captions of the figures in Snakemake's report

Each function receives the files and parameters of its `Needs` by name. Functions for tables, figures and evidence also
receive the paper's block of the config as the parameter `config`, and the file `published`.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from captionlab import paths

Block = dict[str, Any]
# Ending of a figure's file -> the width in config/plotting.yaml that the figure is drawn for.
FIGURE_FILES = {".png": "page", ".pdf": "page", ".svg": "page", "_column.pdf": "column"}


@dataclass(frozen=True)
class Needs:
    """The inputs of a paper's job, the parameters and libraries that its numbers depend on, and its resources."""

    inputs: Mapping[str, str | Sequence[str]]
    params: Mapping[str, Any] = field(default_factory=dict)
    libraries: Sequence[str] = ()  # libraries whose versions can change its numbers
    mem_mb: int = 4000
    runtime: int = 30  # minutes
    modules: Sequence[str] = ()  # modules that it loads by name


@dataclass(frozen=True)
class Figure:
    """A figure in Snakemake's report: its label, and the stem of the file in report/ with its caption."""

    label: str
    caption: str


class Paper:
    """A paper and its block of a config. The block is empty if the config does not ask for the paper."""

    name: ClassVar[str]
    citation: ClassVar[str]
    every_table: ClassVar[Sequence[str]] = ()
    every_figure: ClassVar[Mapping[str, str]] = {}
    """names without the paper's, of figures with their labels, where the paper's block asks for all of them"""

    def __init__(self, lab: Any):
        self.lab = lab  # the workflow: captionlab.workflow.experiments.Experiments
        self.block: Block = lab.config.get("papers", {}).get(self.name, {})

    def tables(self) -> list[str]:
        """Return the names of the tables that the config asks for."""
        return [f"{self.name}_{table}" for table in self.every_table] if self.block else []

    def figures(self) -> dict[str, Figure]:
        """Return the figures that the config asks for, by name. Figures with the same number share a caption."""
        figures = self.every_figure if self.block else {}
        return {f"{self.name}_{name}": Figure(label, name.split("_")[0]) for name, label in figures.items()}

    def summarised(self) -> Needs | None:
        """Return the inputs of the paper's own values and differences, or None if it has none."""
        return None

    def tabulated(self) -> Needs:
        """Return the inputs of the paper's tables."""
        return Needs({})

    def plotted(self) -> Needs:
        """Return the inputs of the paper's figures."""
        return Needs({})

    def judged(self) -> Needs:
        """Return the inputs of the evidence for the paper's claims."""
        return Needs({"differences": self.measured("differences")} if self.summarised() else {})

    def compared(self) -> dict[str, str]:
        """Return captioner -> another captioner that it is compared with in every evaluation, besides its parent."""
        return {}

    def measured(self, table: str) -> str:
        """Return the path of the paper's own table of values or of differences."""
        return paths.reporting(f"{self.name}/{table}.parquet")

    @staticmethod
    def mistakes(config: Block, where: str, block: Block) -> Iterator[str]:
        """Yield a sentence for each mistake in the paper's block that its schema cannot detect.

        All names in the config refer to something that exists when this method is called.
        """
        yield from ()


def listed(names: str | Sequence[str]) -> list[str]:
    """Return a name, or several names, as a list."""
    return [names] if isinstance(names, str) else list(names)
