"""Plans: the jobs that Snakemake would run for a config, with their inputs, outputs and parameters."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from snakemake.api import ConfigSettings, DAGSettings, OutputSettings, ResourceSettings, SnakemakeApi
from snakemake.exceptions import ApiError
from snakemake.settings.enums import Quietness
from snakemake.utils import update_config
from support.records import python_path

import captionlab
from captionlab.config.whole import ConfigError

TESTS = Path(__file__).parents[1]
# The checkout whose library was imported: in a process of its own it may be a copy.
ROOT = Path(captionlab.__file__).parents[2]
MISSING = re.compile(r"no such (file|folder)(?: or folder)? ([^\s;]+)")
Config = Mapping[str, Any]


@dataclass(frozen=True)
class Job:
    """A job of a plan. `reads` and `makes` are all inputs and outputs; `inputs` and `outputs` have those with a name.

    A name stands for a file, or for a list of files. Memory is known if all inputs are there.
    """

    rule: str
    wildcards: dict[str, str]
    reads: list[str]
    inputs: dict[str, Any]
    makes: list[str]
    outputs: dict[str, Any]
    params: dict[str, Any]
    resources: dict[str, Any]


@dataclass(frozen=True)
class Plan:
    """The jobs of a plan, and the folder that paths of its config start at."""

    jobs: list[Job]
    data: Path

    def of(self, rule: str, **wildcards: str) -> list[Job]:
        """Return the jobs of a rule that have these wildcards, and perhaps others."""
        return [job for job in self.jobs if job.rule == rule and wildcards.items() <= job.wildcards.items()]

    def job(self, rule: str, **wildcards: str) -> Job:
        """Return the one job of a rule that has these wildcards."""
        (found,) = self.of(rule, **wildcards)
        return found

    def rules(self) -> set[str]:
        """Return the rules that have a job."""
        return {job.rule for job in self.jobs}

    def made(self) -> set[str]:
        """Return the outputs of all jobs."""
        return {path for job in self.jobs for path in job.makes}

    def tables(self, paper: str) -> list[str]:
        """Return the names of the tables that a paper makes, in their order."""
        paths = [path for job in self.of(f"tabulate_{paper}") for path in job.outputs["tables"]]
        return list(dict.fromkeys(Path(path).stem for path in paths))

    def figures(self, paper: str) -> list[str]:
        """Return the names of the figures that a paper makes, in their order."""
        return [name for job in self.of(f"plot_{paper}") for name in job.outputs]


def config_of(*names: str) -> dict[str, Any]:
    """Return a config of the folder config/, with others on top of it."""
    config: dict[str, Any] = {}
    for name in names:
        update_config(config, yaml.safe_load((ROOT / "config" / f"{name}.yaml").read_text(encoding="utf-8")))
    return config


def plan(
    config: Config,
    folder: Path,
    *targets: str,
    data: Path | None = None,
    present: Sequence[str] = (),
    stand_ins: bool = True,
) -> Plan:
    """Return the plan of a run of a config in `folder/run`, for the rule `all` or for other targets.

    Paths of the config start at `data`, by default `folder/data`, in which the files of `present` are made first. With
    `stand_ins`, what the config names and is not there is made too: files without content, and empty folders; and
    captions are tagged by the model that comes with captionlab. Raises ConfigError if the config cannot be run.
    """
    data, run = data or folder / "data", folder / "run"
    for place in (data, run):
        place.mkdir(parents=True, exist_ok=True)
    for name in present:
        _make("file", data / name)
    config = {**config, "data": str(data)}
    if stand_ins and "language" in config:
        config["language"] = {key: value for key, value in config["language"].items() if key != "tagger"}
    file = folder / "config.yaml"
    file.write_text(yaml.safe_dump(config, sort_keys=False), encoding="utf-8")
    while True:
        try:
            return Plan(_jobs(file, run, targets or ("all",)), data)
        except ApiError as refusal:
            missing = [(what, Path(place)) for what, place in MISSING.findall(str(refusal))]
            if not stand_ins or all(place.exists() for _, place in missing):
                raise ConfigError(str(refusal)) from None
            for what, place in missing:
                _make(what, place)


def plan_in(checkout: Path, config: Config, folder: Path, *targets: str) -> Plan:
    """Return the plan of a config by a copy of the checkout, in a process of its own."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "asked.json"
    file.write_text(json.dumps(config), encoding="utf-8")
    code = "import sys; from support import plans; plans.main(*sys.argv[1:])"
    command = [sys.executable, "-c", code, str(file), str(folder), *targets]
    environment = {**os.environ, "PYTHONPATH": python_path(checkout / "src", TESTS)}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    if "refusal" in found:
        raise ConfigError(found["refusal"])
    return Plan([Job(**job) for job in found["jobs"]], folder / "data")


def main(file: str, folder: str, *targets: str) -> None:
    """Print the plan of a config, or why it cannot be run, as JSON."""
    try:
        found: Any = {"jobs": plan(json.loads(Path(file).read_text(encoding="utf-8")), Path(folder), *targets).jobs}
        found["jobs"] = [asdict(job) for job in found["jobs"]]
    except ConfigError as refusal:
        found = {"refusal": str(refusal)}
    print(json.dumps(found, default=str))


def _jobs(config: Path, folder: Path, targets: Sequence[str]) -> list[Job]:
    with pytest.MonkeyPatch.context() as patch, SnakemakeApi(OutputSettings(quiet={Quietness.ALL})) as api:
        patch.setenv("PYTHONPATH", python_path(ROOT / "src"))  # where the workflow would put its library, for jobs
        workflow = api.workflow(
            resource_settings=ResourceSettings(cores=1),
            config_settings=ConfigSettings(configfiles=[config]),
            snakefile=ROOT / "Snakefile",
            workdir=folder,
        )
        workflow.dag(DAGSettings(targets={*targets})).execute_workflow(executor="dryrun")
        # The public interface of Snakemake prints jobs and returns none.
        return [_job(job) for job in workflow._workflow_store.dag.jobs]


def _job(job: Any) -> Job:
    return Job(
        rule=job.rule.name,
        wildcards=dict(job.wildcards_dict),
        reads=[str(path) for path in job.input],
        inputs=_by_name(job.input),
        makes=[str(path) for path in job.output],
        outputs=_by_name(job.output),
        params=dict(job.params.items()),
        resources=dict(job.resources.items()),
    )


def _by_name(files: Any) -> dict[str, Any]:
    """Return files by name as strings and lists of strings."""
    return {
        name: [str(path) for path in value] if isinstance(value, list) else str(value) for name, value in files.items()
    }


def _make(what: str, place: Path) -> None:
    if what == "folder":
        place.mkdir(parents=True, exist_ok=True)
    elif not place.exists():
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text("{}", encoding="utf-8")
