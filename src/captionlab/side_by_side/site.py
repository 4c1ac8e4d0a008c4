"""The site that shows several finished runs side by side."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from captionlab.reporting.tables.formats.files import write_table_files, write_text
from captionlab.reporting.tables.render import MISSING, Table
from captionlab.reporting.templates import template
from captionlab.side_by_side.captions import Captions, read_all_captions, write_captions
from captionlab.side_by_side.curves import panels
from captionlab.side_by_side.differences import compared_numbers, tally
from captionlab.side_by_side.moved import moved_table
from captionlab.side_by_side.runs import ComparisonError, FinishedRun
from captionlab.side_by_side.tables import metrics_table, parameters_table
from captionlab.storage.files import replacing_folder

# The file by which the command knows a folder that it made.
RECORD = "runs.json"
FORMATS = ("html", "csv", "md")


@dataclass(frozen=True)
class Entry:
    """A page of the site: where it is, its title, and a sentence on what is there."""

    address: str
    title: str
    sentence: str
    others: Mapping[str, str]


def write_site(runs: Sequence[FinishedRun], output: Path) -> None:
    """Write the site of the runs into a folder, which appears when it is complete.

    Raises ComparisonError if there is a folder or file at this place that this function did not make.
    """
    if output.exists() and not (output / RECORD).is_file() and not (output.is_dir() and not any(output.iterdir())):
        raise ComparisonError(f"{output} is there already, and no comparison of runs made it; name another --output")
    numbers, paired = compared_numbers(runs)
    captions = read_all_captions(runs)
    tables = [
        metrics_table(runs, numbers, lambda *place: place in captions), parameters_table(runs), moved_table(runs)
    ]  # fmt: skip
    drawn = panels(runs)
    with replacing_folder(output) as partial:
        for table in tables:
            write_table_files(table, [partial / "tables" / f"{table.name}.{ending}" for ending in FORMATS])
        if captions.said:
            write_captions(partial / "browser", runs, captions, paired)
        if drawn:
            page = template("curves.html.jinja").render(
                title=f"Training of {_names(runs)}", runs=_series(runs), panels=drawn
            )
            write_text(partial / "training.html", page)
        entries = _entries(tables, captions, sum(map(len, drawn.values())))
        write_text(partial / "tables" / "index.html", template("runs_tables.html.jinja").render(entries=entries))
        about = {"title": f"{_names(runs)} side by side", "runs": [run.name for run in runs]}
        findings = [*_findings(runs, list(tally(numbers))), *captions.gaps]
        page = template("runs.html.jinja").render(about, facts=_facts(runs), findings=findings, entries=entries)
        write_text(partial / "index.html", page)
        write_text(partial / RECORD, json.dumps({run.name: str(run.folder) for run in runs}, indent=2) + "\n")


def _names(runs: Sequence[FinishedRun]) -> str:
    return ", ".join(run.name for run in runs)


def _series(runs: Sequence[FinishedRun]) -> dict[str, int]:
    """Return the number of the colour of each run."""
    return {run.name: place for place, run in enumerate(runs)}


def _entries(tables: Sequence[Table], captions: Captions, curves: int) -> list[Entry]:
    """Return the pages of the site, with addresses relative to its folder."""
    pages = (
        [Entry("browser/index.html", "Captions", "The captions of all runs, image by image.", {})]
        if captions.said
        else []
    )
    if curves:
        pages.append(
            Entry("training.html", "Training", f"{curves} curves of validation, reward and loss by update.", {})
        )
    own = [
        Entry(
            f"tables/{table.name}.html",
            table.title,
            table.description,
            {e: f"tables/{table.name}.{e}" for e in FORMATS[1:]},
        )
        for table in tables
    ]
    return [own[0], *pages, *own[1:]]


def _facts(runs: Sequence[FinishedRun]) -> dict[str, list[str]]:
    """Return what the index says of each run, by fact."""
    found: dict[str, list[str]] = {
        "config": [str(run.config.get("name", "not recorded")) for run in runs],
        "seed": [str(run.config.get("seed", run.summarised.get("params", {}).get("seed", MISSING))) for run in runs],
        "commit": [", ".join(run.facts("commit")) or MISSING for run in runs],
        "device": [", ".join(run.facts("device")) or MISSING for run in runs],
        "last job ended": [f"{run.ended:%Y-%m-%d %H:%M} UTC" if run.ended else MISSING for run in runs],
        "time of all jobs": [_duration(run.seconds) for run in runs],
        "valid": [_validity(run) for run in runs],
        "claims": [_claims(run) for run in runs],
        "folder": [str(run.folder) for run in runs],
    }
    return found


def _duration(seconds: float | None) -> str:
    if seconds is None:
        return MISSING
    minutes = round(seconds / 60)
    return (
        f"{minutes // 60} h {minutes % 60} min"
        if minutes >= 60
        else f"{minutes} min"
        if minutes
        else f"{seconds:.0f} s"
    )


def _validity(run: FinishedRun) -> str:
    """Return how many conditions of the table of validity a run meets, and which it does not meet."""
    if "validity" not in run.tables:
        return "not checked"
    rows = run.tables["validity"].to_dict("records")
    failed = [f"{row['condition']} of {row['of']}" for row in rows if row["met"] == "False"]
    met = sum(row["met"] == "True" for row in rows)
    return f"{met} of {len(rows)} conditions met" + (f"; not met: {', '.join(failed)}" if failed else "")


def _claims(run: FinishedRun) -> str:
    """Return how many claims of papers have each verdict in a run."""
    if "claims" not in run.tables:
        return "not judged"
    return ", ".join(f"{count} {verdict}" for verdict, count in Counter(run.tables["claims"]["verdict"]).items())


def _findings(runs: Sequence[FinishedRun], counts: Sequence[tuple[str, int, int, int]]) -> list[str]:
    """Return sentences on how many differences there are, and on corpora that only some runs have."""
    found = []
    for name, paired, significant, unpaired in counts:
        found.append(
            f"{name}: {paired} differences from {runs[0].name} are paired, {significant} of them significant (p < 0.05 "
            f"with Holm's correction); {unpaired} are unpaired"
        )
    for run in runs[1:]:
        if only := sorted(run.corpora ^ runs[0].corpora):
            found.append(f"only one of {runs[0].name} and {run.name} has the corpora {', '.join(only)}")
    return found
