"""Papers: folders `captionlab/papers/<name>/` with rules, tables, figures, claims and published numbers.

    config.py      Config, the model of the block `papers.<name>` of a config, and FACTS; run_mistakes(config, where,
                   block) yields sentences on what the model alone cannot see
    rules.smk      the rules of the paper, included if a config asks for it, with a `Paper` at the end
    summary.py     summarise(inputs, params) -> rows of values, rows of differences, tables whose metadata name the
                   device; only if the paper has measurements of its own
    tables.py      TABLES, functions (inputs, params, provenance) -> the tables that the function makes
    figures.py     drawings(inputs, params, style) -> name of a figure -> function that draws it for a width in inches
    evidence.py    evidence(inputs, params) -> the Evidence for the paper's claims
    published.csv  published numbers
    claims.yaml    claims of the paper
    report/        captions of the figures in Snakemake's report

Each function receives the files and parameters of its rule by name.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

# Ending of a figure's file -> the width in config/plotting.yaml that the figure is drawn for.
FIGURE_FILES: dict[str, Literal["page", "column"]] = {
    ".png": "page", ".pdf": "page", ".svg": "page", "_column.pdf": "column", ".html": "page",
}  # fmt: skip


@dataclass(frozen=True)
class Paper:
    """A paper of a run: what rules that put tables, figures and claims of all papers together know of it.

    `tables` are the files of its tables. `figures` has what each figure shows, by the name of the figure without the
    name of the paper. `tables_of_figures` has the table with the numbers of a figure, both without the name of the
    paper; some figures have none. `evidence` returns the files and the parameters by which claims are judged.
    `compared` has for captioners another captioner that they are compared with in every evaluation, besides their
    parents. `spoken` returns the evaluation whose captions are behind its numbers (`evaluation`), the captioner whose
    captions stand for each role (`first`), and scorers by the paper's labels (`scorers`); None if no number leads to
    captions, or if all numbers are metrics of evaluations.
    """

    citation: str
    tables: Sequence[str]
    evidence: Callable[[], tuple[Mapping[str, Any], Mapping[str, Any]]]
    figures: Mapping[str, str] = field(default_factory=dict)
    tables_of_figures: Mapping[str, str] = field(default_factory=dict)
    compared: Mapping[str, str] = field(default_factory=dict)
    spoken: Callable[[], Mapping[str, Any]] | None = None
