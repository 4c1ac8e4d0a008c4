"""What the tests of papers share: their files, their scripts, and claims that are judged by rows of differences."""

import runpy
from functools import partial
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from support.figure_checks import STYLE

from captionlab.papers.discritune.evidence import TOGETHER
from captionlab.reporting.claims.claims import claims_table
from captionlab.reporting.claims.evidence import Evidence, EvidenceClaim
from captionlab.reporting.claims.printed import printed_difference
from captionlab.reporting.runs.published import Published, read_published
from captionlab.reporting.tables.cells import places_behind
from captionlab.reporting.tables.figures import Draw
from captionlab.reporting.tables.render import FORMATS, Table

ROOT = Path(__file__).parents[2]
PAPERS = ROOT / "src" / "captionlab" / "papers"
PROVENANCE = {"config": "made-up", "seed": 7, "commit": "abc", "device": "cpu"}


class Named(SimpleNamespace):
    """Files or parameters by name, as Snakemake gives them."""

    def items(self) -> Any:
        return vars(self).items()

    def get(self, name: str, default: Any = None) -> Any:
        return vars(self).get(name, default)


def published(paper: str) -> Published:
    return read_published(PAPERS / paper / "published.csv")


def run_paper(verb: str, paper: str, inputs: dict[str, Any], outputs: dict[str, Any], **params: Any) -> None:
    """Run one of the scripts of papers as Snakemake would, with the parameters that every paper has."""
    module = {"summarise": "summary", "tabulate": "tables", "plot": "figures"}[verb]
    shared = {"style": ROOT / "config" / "plotting.yaml", "published": PAPERS / paper / "published.csv"}
    if verb == "plot":
        params = {"venue": "acl", "pages": {name: {"title": name} for name in outputs}, **params}
    if verb == "tabulate":
        folder = Path(outputs["tables"][0]).parent
        outputs = {"pictures": folder / "pictures", "cells": folder / "cells.parquet", **outputs}
    params = {"module": f"captionlab.papers.{paper}.{module}", "provenance": {"config": "toy", "seed": 1}, **params}
    job = SimpleNamespace(input=Named(**{**shared, **inputs}), output=Named(**outputs), params=Named(**params))
    runpy.run_path(str(ROOT / "workflow" / "scripts" / f"{verb}_paper.py"))["main"](job)


def drawings(paper: str, inputs: dict[str, Any], **params: Any) -> dict[str, Draw]:
    """What draws the figures of a paper."""
    inputs = {"published": PAPERS / paper / "published.csv", **inputs}
    found: dict[str, Draw] = import_module(f"captionlab.papers.{paper}.figures").drawings(inputs, params, STYLE)
    return found


def table_files(folder: Path, names: Any) -> dict[tuple[str, str], Path]:
    """The files of tables by name and ending."""
    return {(name, ending): folder / f"{name}.{ending}" for name in names for ending in FORMATS}


def judged(claims: Any, differences: Any, paper: str = "discritune", numbers: Published | None = None) -> Table:
    """The table of those claims that rest on rows of differences; `numbers` are the published ones."""
    claims = [claim for claim in claims if isinstance(claim, EvidenceClaim)]
    placed = [{**row, "places": places_behind(row)} for row in differences]
    return claims_table(claims, {paper: Evidence(placed, printer(paper, numbers))}, PROVENANCE, {})


def printer(paper: str, numbers: Published | None, retriever: str | None = "clip", parents: Any = None) -> Any:
    """What a paper prints of a row of differences."""
    sides_of, together = import_module(f"captionlab.papers.{paper}.evidence").sides_of, ()
    if paper == "discritune":
        sides_of, together = partial(sides_of, retriever=retriever, parents=parents or {}), TOGETHER
    return lambda row: numbers and printed_difference(numbers, row, sides_of, together)
