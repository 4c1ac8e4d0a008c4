"""Contents of a run that a record of it may hold: jobs behind its tables, files, and which files stay private.

A record never copies images, reference captions or other files of users. It names them with their digests.
"""

import hashlib
import os
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property
from pathlib import Path
from typing import Any

from captionlab.installation import file_of
from captionlab.jobs.provenance import records
from captionlab.reporting.documents.costs import measured_job
from captionlab.reporting.tables.formats.csv import read_records
from captionlab.storage import paths
from captionlab.storage.files import digest, read_yaml

# Rules whose captions a captioner of the run generated. Other captions are of people, or come from files of users.
GENERATING = frozenset({"generate_captions", "join_captions", "request_captions"})
# Tables for programs that reports and comparisons are made from.
SUMMARIES = tuple(paths.reporting(f"{name}.parquet") for name in ("summary", "comparisons"))
# What tables with images have in them: an image itself, or a link to a file of it.
IMAGES = (b"data:image", f"{paths.PICTURES}/".encode())
QUOTING = "reference"  # the column of tables that quote reference captions
SHIPPED = (paths.RESOURCES.name, "CITATION.cff", "config", "src", "workflow")  # inputs that come with the workflow
PRIVATE = "inputs"  # folder, below `data`, that stands for the folders of absolute paths
DATA = "data"  # folder of data in a config whose own has an absolute path


@dataclass(frozen=True)
class RecordedJob:
    """A job of a run: its name, what its provenance says, when it ended and how long it took, if that was measured."""

    name: str
    made: Mapping[str, Any]
    ended: datetime
    seconds: float | None

    @property
    def started(self) -> datetime | None:
        """Return when the job started, if its time was measured."""
        return None if self.seconds is None else self.ended - timedelta(seconds=self.seconds)


@dataclass(frozen=True)
class RecordedFile:
    """A file or folder that jobs read or wrote: the digest that the jobs saw, and where it is if it is still the same.

    `path` is None if the file was deleted or changed since.
    """

    name: str
    digest: str
    path: Path | None


class Contents:
    """Jobs and files behind the tables of a run. `folder` holds results/.

    Raises ValueError if the folder has no finished tables, no record of its config or of the jobs, if its tables are
    out of date, or if a file of provenance is damaged.
    """

    def __init__(self, folder: Path):
        self.folder = folder
        for name, advice in (
            (paths.TABLES, "name a folder in which `snakemake results/tables/` ended"),
            (paths.CONFIG, "an earlier version of captionlab made it; run it again with `--forcerun collect_tables`"),
        ):
            if not (folder / name).exists():
                raise ValueError(f"there is no {name} in {folder}; {advice}")
        self.config: dict[str, Any] = read_yaml(folder / paths.CONFIG)
        self.jobs = self._jobs_behind(paths.TABLES)
        if not self.jobs:
            raise ValueError(
                f"{folder / paths.PROVENANCE} does not say how {paths.TABLES} was made; delete that, and run again"
            )

    def _jobs_behind(self, output: str) -> list[RecordedJob]:
        """Return the jobs that a file was made by, through all files that they read, in the order of their ends.

        Raises ValueError if a file was made again after a job had read it.
        """
        makers = defaultdict[str, list[tuple[Path, dict[str, Any]]]](list)
        for path, made in records(self.folder):
            for name in made["outputs"]:
                makers[name].append((path, made))
        ahead, found = [(output, "")], dict[Path, dict[str, Any]]()
        while ahead:
            name, seen = ahead.pop()
            if name in makers and seen not in ("", *(made["outputs"][name] for _, made in makers[name])):
                raise ValueError(
                    f"{self.folder / name} was made again after {output}; run `snakemake {output}/` to its end"
                )
            for at in (name, *map(str, Path(name).parents)):  # some outputs are folders
                for path, made in makers.get(at, ()):
                    if path not in found and (at != name or seen in ("", made["outputs"][at])):
                        found[path] = made
                        ahead += made["inputs"].items()
        return sorted((self._job(path, made) for path, made in found.items()), key=lambda job: (job.ended, job.name))

    def _job(self, path: Path, made: dict[str, Any]) -> RecordedJob:
        name = path.relative_to(self.folder / paths.PROVENANCE).with_suffix("")
        cost = measured_job(self.folder / paths.RESULTS, name)
        ended = datetime.fromtimestamp(round(path.stat().st_mtime), UTC)
        return RecordedJob(str(name), made, ended, cost["seconds"] if cost else None)

    # ------------------------------------------------------------------------------------------------------ files
    @cached_property
    def files(self) -> dict[str, RecordedFile]:
        """Return the files that the jobs read or wrote, by name. Where versions differ, the last job counts."""
        digests = {
            name: made for job in self.jobs for part in ("inputs", "outputs") for name, made in job.made[part].items()
        }
        return {name: RecordedFile(name, made, self._unchanged(name, made)) for name, made in sorted(digests.items())}

    def _unchanged(self, name: str, made: str) -> Path | None:
        path = self.located(name)
        return path if path.exists() and (path.is_dir() or digest(path) == made) else None

    def located(self, name: str) -> Path:
        """Return where a file of provenance lies: in the run's folder or in captionlab."""
        return self.folder / name if (self.folder / name).exists() else file_of(Path(name))

    @cached_property
    def inputs(self) -> list[str]:
        """Return the names of the files that jobs read and no job of the run wrote."""
        written = {name for job in self.jobs for name in job.made["outputs"]}
        read = {name for job in self.jobs for name in job.made["inputs"]} - written
        return sorted(name for name in read if not any(str(folder) in written for folder in Path(name).parents))

    @property
    def own_inputs(self) -> list[str]:
        """Return the names of the inputs that do not come with the workflow."""
        return [name for name in self.inputs if Path(name).parts[0] not in SHIPPED]

    def captions(self, evaluation: str | None = None) -> list[str]:
        """Return the files with generated captions, of all evaluations or of one.

        Captions of people, of judged sets and of imported files are left out.
        """
        names = self._captions(generated=True)
        return [name for name in names if evaluation in (None, paths.captioner_of(name)[1])]

    def _captions(self, generated: bool) -> list[str]:
        """Return the files of captions of all captioners, generated by the run or not; shards are left out."""
        folder = Path(paths.captions("", "")).parent
        jobs = (job for job in self.jobs if (job.made["rule"] in GENERATING) == generated)
        names = (name for job in jobs for name in job.made["outputs"] if Path(name).parent.parent == folder)
        return sorted(name for name in names if (self.folder / name).is_file())

    def tables(self) -> Iterator[tuple[str, bool]]:
        """Yield the files of tables, and whether each may be copied: it shows no image and quotes no reference."""
        folder = self.folder / paths.TABLES
        quoting = {path.stem for path in folder.glob("*.csv") if self._quotes(path)}
        for path in sorted(path for path in folder.rglob("*") if path.is_file() and not path.name.startswith(".")):
            images = path.parent != folder or any(sign in path.read_bytes() for sign in IMAGES)
            yield str(path.relative_to(self.folder)), not images and path.stem not in quoting
        yield from ((name, True) for name in SUMMARIES if (self.folder / name).is_file())

    def _quotes(self, path: Path) -> bool:
        """Return whether a table quotes references, or captions that no captioner of the run generated."""
        rows = read_records(path)
        columns = {*rows[0]} if rows else set()
        others = {paths.captioner_of(name)[0] for name in self._captions(generated=False)}
        quoted = (row.get(name) in others for row in rows for name in ("captioner", "against"))
        return QUOTING in columns or ("caption" in columns and any(quoted))

    @property
    def caveats(self) -> list[str]:
        """Return the caveats on all numbers of the run."""
        facts = (job.made["params"].get("provenance", {}) for job in self.jobs)
        return sorted({caveat for known in facts for caveat in known.get("caveats", [])})

    # ------------------------------------------------------------------------------------------------------ names
    @property
    def _data(self) -> str:
        return str(self.config.get("data", "."))

    def public_name(self, name: str) -> str:
        """Return the name of a file without folders of this machine: absolute paths become paths below `data`."""
        if not os.path.isabs(name):
            return name
        if os.path.isabs(self._data) and Path(name).is_relative_to(self._data):
            return str(Path(DATA, Path(name).relative_to(self._data)))
        return str(Path(self.public_config()["data"], _stand_in(name)))

    def public_config(self) -> dict[str, Any]:
        """Return the config with `data` and other paths relative, so that it names no folder of this machine."""
        return {**public_value(self.config), "data": DATA if os.path.isabs(self._data) else self._data}


def sha256(path: Path) -> str:
    """Return the SHA-256 digest of a file, in hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def without_home(text: str) -> str:
    """Return a text with home folders, which have the names of users, written as ~."""
    return re.sub(r"(?<![\w./~-])/(?:home|Users)/[^/\s'\"]+", "~", text.replace(str(Path.home()), "~"))


def without_passwords(text: str) -> str:
    """Return a text whose addresses have no user and no password."""
    return re.sub(r"://[^/@\s]+@", "://", text)


def public_value(value: Any) -> Any:
    """Return a value of a config or of a JSON file without private parts.

    Absolute paths are replaced, home folders are written as ~, and addresses have no user and no password.
    """
    if isinstance(value, Mapping):
        return {key: public_value(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [public_value(inner) for inner in value]
    if isinstance(value, str):
        return (
            _stand_in(value) if os.path.isabs(value) and "\n" not in value else without_home(without_passwords(value))
        )
    return value


def _stand_in(path: str) -> str:
    """Return a relative path that stands for an absolute path: other absolute paths have other ones."""
    return f"{PRIVATE}/{hashlib.sha256(path.encode()).hexdigest()[:8]}-{Path(path).name}"
