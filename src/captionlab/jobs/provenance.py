"""Provenance of results: the job that made them, its inputs, its commit and its device.

The provenance of results/logs/{rule}/{job}.log is in results/provenance/{rule}/{job}.json. It is written when a job
ends and is no declared output of any rule, so outputs of a repeated job are identical to the byte if nothing changed.
`python -m captionlab.jobs.tracing FILE` prints it.
"""

import json
import os
import platform
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from captionlab import installation
from captionlab.jobs.programs import program_environment
from captionlab.storage import paths
from captionlab.storage.files import digest, names_digest, replacing


@dataclass(frozen=True)
class Job:
    """A job of a rule.

    `named` has the file or files of inputs with a name. Of the inputs in `listed`, folders of photographs, the job
    reads only the names of files.
    """

    rule: str
    log: str
    wildcards: Mapping[str, Any] = field(default_factory=dict)
    params: Mapping[str, Any] = field(default_factory=dict)
    inputs: Sequence[str] = ()
    outputs: Sequence[str] = ()
    named: Mapping[str, Any] = field(default_factory=dict)
    listed: Sequence[str] = ()


# The running job, with the digests of its inputs at its start, because inputs may be replaced while it runs.
_jobs: list[tuple[Job, dict[str, str]]] = []
# The running part of the job, and the inputs of each output that a part made.
_parts: list["PartInputs"] = []
_sources: dict[str, list[str]] = {}
# The models behind servers that answered the job.
_served: set[str] = set()


class PartInputs(Mapping[str, Any]):
    """The inputs of a job by name, for a part of the job that makes some outputs. It records which are read."""

    def __init__(self, inputs: Any):
        self._inputs = dict(inputs.items())
        self.read: set[str] = set()

    def __getitem__(self, name: str) -> Any:
        """Return the file or files of an input, and record that it was read."""
        found = self._inputs[name]
        self.read |= {_name(path) for path in ([found] if isinstance(found, str | os.PathLike) else found)}
        return found

    def __contains__(self, name: object) -> bool:
        """Return whether the job has an input of this name. This does not count as reading it."""
        return name in self._inputs

    def __iter__(self) -> Iterator[str]:
        return iter(self._inputs)

    def __len__(self) -> int:
        return len(self._inputs)

    def makes(self, outputs: Iterable[str | os.PathLike[str]]) -> None:
        """Record that these outputs are made from the inputs that were read so far."""
        _sources.update({_name(path): sorted(self.read) for path in outputs})


@contextmanager
def working_on(job: Job) -> Iterator[None]:
    """Run a job in the block and write its provenance when the block ends without an error."""
    _jobs.append((job, _digests_of_inputs(job)))
    try:
        yield
        path = paths.beside_log(job.log, "provenance", ".json")
        path.parent.mkdir(parents=True, exist_ok=True)
        outputs = {_name(file): digest(file) for file in job.outputs}
        with replacing(path) as partial:
            others = {"sources": _sources, "served": sorted(_served)}
            known = {name: value for name, value in others.items() if value}
            text = json.dumps({**current(), "outputs": outputs, **known}, indent=2, sort_keys=True)
            partial.write_text(text + "\n", encoding="utf-8")
    finally:
        _jobs.pop()
        _sources.clear()
        _served.clear()
        _describe.cache_clear()


@contextmanager
def part_of(inputs: Any) -> Iterator[PartInputs]:
    """Run a part of a job in the block. Its outputs depend only on the inputs that the block reads."""
    _parts.append(PartInputs(inputs))
    try:
        yield _parts[-1]
    finally:
        _parts.pop()


def answered_by(models: Iterable[str]) -> None:
    """Record models behind servers that answered the running job, as the servers name them."""
    _served.update(models)


def read_so_far() -> dict[str, str]:
    """Return the digest, by name, of each input that the running part of the job has read.

    If the job has no parts, return the digests of all its inputs.
    """
    inputs: dict[str, str] = current().get("inputs", {})
    return {name: made for name, made in inputs.items() if not _parts or name in _parts[-1].read}


def current() -> dict[str, Any]:
    """Return the running job: rule, wildcards, parameters, inputs with digests, commit, device, Python version.

    The parameters are the part of the config that the job depends on, seeds, versions of libraries and the fingerprint
    of the code. Nothing depends on when or how often the job ran. Outside a job the result is empty.
    """
    return _describe() if _jobs else {}


def input_digests() -> dict[str, str]:
    """Return the digest of each input of the running job at its start, by its name; nothing outside a job."""
    return _jobs[-1][1] if _jobs else {}


def _digests_of_inputs(job: Job) -> dict[str, str]:
    # A captioner and the models of its reward may read the same features.
    read = dict.fromkeys(job.inputs)
    return {_name(path): names_digest(path) if path in job.listed else digest(path) for path in read}


def written(run: Path) -> list[dict[str, Any]]:
    """Return the provenance of all jobs of a run, with the digest of each output under `outputs`.

    Raises ValueError if a file of provenance is damaged.
    """
    return [job for _, job in records(run)]


def records(run: Path) -> list[tuple[Path, dict[str, Any]]]:
    """Return the files of provenance of a run, each with its content.

    Raises ValueError if a file is damaged.
    """
    found = []
    for path in sorted((run / paths.PROVENANCE).rglob("*.json")):
        try:
            found.append((path, dict(json.loads(path.read_text(encoding="utf-8")))))
        except ValueError as error:
            raise ValueError(f"{path} is damaged ({error}); delete it and make it again by Snakemake") from error
    return found


@cache
def _describe() -> dict[str, Any]:
    job, digests = _jobs[-1]
    described = {
        "rule": job.rule,
        "wildcards": dict(job.wildcards),
        "params": dict(job.params),
        "inputs": digests,
        "named": {name: _names(files) for name, files in job.named.items()},
        "commit": commit(),
        "device": device_name(),
        "python": platform.python_version(),
    }
    return dict(json.loads(json.dumps(described, default=str)))


def _names(files: Any) -> str | list[str]:
    """Return the name of a file, or the names of files."""
    return _name(files) if isinstance(files, str | os.PathLike) else [_name(file) for file in files]


def _name(path: str | os.PathLike[str]) -> str:
    """Return a file's path for provenance, relative to the checkout if the file lies below it or is installed.

    A result has the same name on the disk and in Snakemake's local copy of a bucket.
    """
    name = installation.name_of(Path(path))
    return str(name) if name.is_absolute() else paths.in_results(name)


def file_of(name: str) -> Path:
    """Return the file of a name in provenance, in the run's folder or of captionlab."""
    return Path(name) if Path(name).exists() else installation.file_of(Path(name))


def commit() -> str:
    """Return the commit of the workflow, with a plus if tracked files were changed.

    An installed package has no commit, so its version is returned, as in `v0.2.0`. Elsewhere it is "unknown".
    """
    if installation.is_installed():  # a repository around it would be another one
        return f"v{installation.version()}"
    git = ["git", "-C", str(installation.PROJECT)]
    head = [*git, "rev-parse", "--short=12", "HEAD"]
    found = subprocess.run(head, capture_output=True, encoding="utf-8", check=False, env=program_environment())
    if found.returncode:
        return "unknown"
    changed = subprocess.run([*git, "diff", "--quiet", "HEAD"], capture_output=True, env=program_environment())
    return found.stdout.strip() + ("+" if changed.returncode else "")


def device_name() -> str:
    """Return the name of the GPU that torch computes on, or else the kind of processor.

    A job that did not import torch used no GPU.
    """
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_available():
        return str(torch.cuda.get_device_name())
    return f"CPU ({platform.machine()})"
