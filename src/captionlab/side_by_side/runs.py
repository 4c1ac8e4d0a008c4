"""The finished runs that are compared, and what their files say."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow.compute as pc
import pyarrow.parquet as pq

from captionlab.jobs.provenance import records
from captionlab.library.runs import open_run
from captionlab.reporting.runs.values import Row
from captionlab.storage import paths
from captionlab.storage.files import read_yaml
from captionlab.storage.schemas import SUMMARY
from captionlab.storage.tables import damage_named, read_table

# What a name may not have, as it separates names in addresses and in RUN:captioner.
RESERVED = ":,/"
CRATE = "ro-crate-metadata.json"  # beside the config of a run that was unpacked from an RO-Crate


class ComparisonError(ValueError):
    """Runs cannot be compared. The message names the folder or the name."""


@dataclass(frozen=True)
class FinishedRun:
    """A finished run. `folder` holds results/. What the folder lacks is empty."""

    name: str
    folder: Path

    def file(self, name: str) -> Path:
        """Return a file of the run by its path from results/ on."""
        return self.folder / name

    @cached_property
    def tables(self) -> dict[str, pd.DataFrame]:
        """The tables by name, with all columns as text."""
        files = sorted(self.file(paths.TABLES).glob("*.csv"))
        return {path.stem: pd.read_csv(path, dtype=str, keep_default_na=False) for path in files}

    @cached_property
    def config(self) -> dict[str, Any]:
        """The whole config of the run; empty if it is not recorded, as in runs of earlier versions."""
        crate = [self.folder / "config.yaml"] if (self.folder / CRATE).is_file() else []
        return next((dict(read_yaml(path)) for path in (self.file(paths.CONFIG), *crate) if path.is_file()), {})

    @cached_property
    def jobs(self) -> dict[str, Mapping[str, Any]]:
        """The provenance of each job, by its rule and wildcards."""
        found = dict[str, Mapping[str, Any]]()
        for _, made in records(self.folder):
            wildcards = [f"{name} {value}" for name, value in made["wildcards"].items()]
            found[" ".join([made["rule"], *wildcards])] = made
        return found

    @cached_property
    def digests(self) -> dict[str, str]:
        """The digest of each file that a job wrote."""
        return {name: made for job in self.jobs.values() for name, made in job.get("outputs", {}).items()}

    @cached_property
    def summary(self) -> list[Row]:
        """The rows of SUMMARY."""
        file = self.file(paths.reporting("summary.parquet"))
        return list(read_table(file, SUMMARY).to_pylist()) if file.is_file() else []

    @cached_property
    def summarised(self) -> Mapping[str, Any]:
        """The provenance of the summary; empty if it is not recorded."""
        return self.jobs.get("summarise_evaluation", {})

    @cached_property
    def trainings(self) -> Mapping[str, Sequence[str]]:
        """The trainings of each captioner that has several seeds, itself first."""
        found: Mapping[str, Sequence[str]] = self.summarised.get("params", {}).get("trainings", {})
        return found

    @cached_property
    def corpora(self) -> set[str]:
        """The names of the corpora that are read or evaluated."""
        read = {path.parent.name for path in self.folder.glob(paths.corpus("images", "*"))}
        return read | {row["corpus"] for row in self.summary} | {*self.config.get("corpora", {})}

    @cached_property
    def ended(self) -> datetime | None:
        """When the last job ended, by the time stamp of its provenance."""
        times = [path.stat().st_mtime for path, _ in records(self.folder)]
        return datetime.fromtimestamp(max(times), UTC) if times else None

    @cached_property
    def seconds(self) -> float | None:
        """How long all jobs took, one after the other."""
        file = self.file(paths.COST)
        if not file.is_file():
            return None
        with damage_named(file):
            return float(pc.sum(pq.read_table(file, columns=["seconds"])["seconds"]).as_py() or 0)

    def facts(self, name: str) -> list[str]:
        """Return the values of a fact, such as commit, device or python, over all jobs, sorted."""
        return sorted({str(job[name]) for job in self.jobs.values() if job.get(name)})


def read_runs(words: Sequence[str]) -> list[FinishedRun]:
    """Return the runs that words name as FOLDER or NAME=FOLDER; the name of a folder is the default.

    Raises ComparisonError if there is one run, a folder holds no finished run, two runs have the same name, or a run
    shares no corpus with the first.
    """
    runs = [_read(word) for word in words]
    if len(runs) < 2:
        raise ComparisonError("a comparison needs the folders of two runs or more")
    names = [run.name for run in runs]
    if repeated := sorted({name for name in names if names.count(name) > 1}):
        raise ComparisonError(f"two runs are called {repeated[0]!r}; give them names, as in before=FOLDER after=FOLDER")
    first, *others = runs
    for run in others:
        if first.corpora and run.corpora and not first.corpora & run.corpora:
            raise ComparisonError(
                f"{run.name} shares no corpus with {first.name}, so that nothing of them can be compared: "
                f"{', '.join(sorted(run.corpora))} and {', '.join(sorted(first.corpora))}"
            )
    return runs


def _read(word: str) -> FinishedRun:
    """Return the run that a word names. A word that is a folder has no name in it."""
    name, equals, rest = word.partition("=")
    named = bool(equals) and not os.path.isdir(word)
    folder = open_run(rest if named else word).folder
    if not named:
        name = folder.resolve().name
    if not name or set(name) & set(RESERVED):
        raise ComparisonError(
            f"{name!r} cannot be the name of a run: it may not be empty nor have any of {' '.join(RESERVED)}; "
            "give it another, as in before=FOLDER"
        )
    run = FinishedRun(name, folder)
    if not run.tables:
        raise ComparisonError(
            f"{folder} is no finished run: there are no tables in {run.file(paths.TABLES)}; "
            "`captionlab tables` or `./lab tables` makes them"
        )
    return run
