"""Numbers of the tables of a paper that are no metrics, computed again from what the paper's summary was made from."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from captionlab.evaluation.rows import GENERATED
from captionlab.evaluation.schemas import ROLE_DIFFERENCES, ROLE_VALUES
from captionlab.jobs.provenance import file_of, records
from captionlab.library.runs import Run, RunError
from captionlab.plugins import module
from captionlab.storage import paths
from captionlab.storage.tables import TableSchema, read_table


@dataclass(frozen=True)
class PaperNumber:
    """The coordinates of a number of a paper: of the value of a role, or with `against` of a difference of two roles.

    `role`, `scorer` and `against` are the paper's labels.
    """

    paper: str
    role: str
    corpus: str
    measure: str
    scorer: str | None = None
    against: str | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        """Return the columns of the number, its interval and its images."""
        return ("value" if self.against is None else "difference", "ci_low", "ci_high", "n")

    @property
    def place(self) -> dict[str, Any]:
        """Return the columns that identify the number in ROLE_VALUES or ROLE_DIFFERENCES."""
        place = dict.fromkeys(ROLE_VALUES.key) | {"experiment": GENERATED, "subject": self.role, "corpus": self.corpus}
        return (
            place
            | {"measure": self.measure, "scorer": self.scorer}
            | ({"against": self.against} if self.against else {})
        )

    @property
    def table(self) -> tuple[str, TableSchema]:
        """Return the file with the number, and its schema."""
        name = "values" if self.against is None else "differences"
        schema = ROLE_VALUES if self.against is None else ROLE_DIFFERENCES
        return paths.reporting(f"{self.paper}/{name}.parquet"), schema


def stored(run: Run, number: PaperNumber) -> Mapping[str, Any]:
    """Return the row of a number of a paper. Raises RunError if the run has no such table or number."""
    path, schema = number.table
    if not (run.folder / path).is_file():
        raise RunError(f"there is no {path} in {run.folder}; name a paper of the run's config")
    return _found(read_table(run.folder / path, schema).to_pylist(), number, f"{run.folder / path}")


def recomputed(run: Run, number: PaperNumber) -> Mapping[str, Any]:
    """Return the row of a number, computed again from the files that the summary of the paper was made from.

    Raises RunError if the run does not say how the summary was made, or if a file is gone.
    """
    path, _ = number.table
    jobs = [job for _, job in records(run.folder) if path in map(paths.in_results, job["outputs"]) and "named" in job]
    if not jobs:
        raise RunError(f"{run.folder / paths.PROVENANCE} does not say how {path} was made; make it again")
    inputs = {name: _files(run, files) for name, files in jobs[0]["named"].items()}
    params = jobs[0]["params"]
    values, differences, _ = module(params["module"]).summarise(inputs, params)
    rows = values if number.against is None else differences
    return _found(rows, number, f"the files that {path} was made from")


def _files(run: Run, names: Any) -> Any:
    """Return where the file of a name in provenance is, or where the files are."""
    if not isinstance(names, str):
        return [_files(run, name) for name in names]
    path = run.folder / names if (run.folder / names).exists() else file_of(names)
    if not Path(path).exists():
        raise RunError(f"{path} is gone, from which the numbers of the paper were made; make it again")
    return str(path)


def _found(rows: Any, number: PaperNumber, where: str) -> Mapping[str, Any]:
    """Return the row at the place of a number. Raises RunError, which names a coordinate that no row has."""
    for name, value in number.place.items():
        there = list(dict.fromkeys(row.get(name) for row in rows))
        rows = [row for row in rows if row.get(name) == value]
        if not rows:
            options = "; ".join(sorted("none" if one is None else str(one) for one in there))
            raise RunError(f"{where} has no such number: {name} {value!r} is none of: {options}")
    return dict(rows[0])
