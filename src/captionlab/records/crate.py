"""An RO-Crate of a run, by the profile Provenance Run Crate: workflow, config, jobs, files with digests, tables.

The profile is specified at https://www.researchobject.org/workflow-run-crate/profiles/provenance_run_crate/.
"""

import mimetypes
from collections import defaultdict
from dataclasses import dataclass
from importlib.metadata import version
from io import StringIO
from pathlib import Path
from typing import Any

import yaml
from rocrate.model import ContextEntity
from rocrate.model.softwareapplication import SoftwareApplication
from rocrate.rocrate import ROCrate

from captionlab.installation import PROJECT
from captionlab.records.contents import Contents, RecordedFile, RecordedJob, sha256, without_home
from captionlab.reporting.templates import template
from captionlab.storage import paths
from captionlab.storage.files import read_yaml, replacing, replacing_folder

# The profiles that a Provenance Run Crate conforms to, and the version of RO-Crate that they are made for.
PROFILES = {
    "https://w3id.org/ro/wfrun/process/0.5": ("Process Run Crate", "0.5"),
    "https://w3id.org/ro/wfrun/workflow/0.5": ("Workflow Run Crate", "0.5"),
    "https://w3id.org/ro/wfrun/provenance/0.5": ("Provenance Run Crate", "0.5"),
    "https://w3id.org/workflowhub/workflow-ro-crate/1.0": ("Workflow RO-Crate", "1.0"),
}
SPECIFICATION = "1.1"
WORKFLOW_PROFILE = "https://bioschemas.org/profiles/ComputationalWorkflow/1.0-RELEASE"
PARAMETER_PROFILE = "https://bioschemas.org/profiles/FormalParameter/1.0-RELEASE"
# Media types that Python's list lacks.
MEDIA_TYPES = {
    ".parquet": "application/vnd.apache.parquet", ".md": "text/markdown", ".yaml": "application/yaml",
    ".safetensors": "application/octet-stream", ".tex": "application/x-tex", ".jsonl": "application/jsonl",
}  # fmt: skip
UNLICENSED = "The authors of this run have not stated a licence; ask them before you use it."
CONFIG, LOCK, SNAKEFILE, README = "config.yaml", "requirements.lock", "Snakefile", "README.md"
MODELS = ("captioners", "encoders", "scorers")  # folders of results that have weights
OF_MODELS = (".safetensors", ".json", ".md", ".txt")  # endings of weights, configs, tokenizers and cards
DONE = "http://schema.org/CompletedActionStatus"


@dataclass(frozen=True)
class Notes:
    """Facts about a crate that the run does not know: its licence and its author, each an address or a text."""

    licence: str | None = None
    author: str | None = None


def write_crate(folder: Path, output: Path, notes: Notes | None = None, models: bool = False) -> "Crate":
    """Write the RO-Crate of the run in a folder, which holds results/, into a folder or a file that ends in .zip.

    Tables, generated captions and the config are copied. Weights, tokenizers and cards of models are copied if `models`
    is true. Everything else is named with its digest and size. Raises ValueError if the run is not finished or the
    output is there.
    """
    if output.exists():
        raise ValueError(f"{output} is there already; delete it, or name another --output")
    crate = Crate(Contents(folder), notes or Notes(), models)
    if output.suffix == ".zip":
        with replacing(output) as partial:
            crate.crate.write_zip(partial)
    else:
        with replacing_folder(output) as partial:
            crate.crate.write(partial)
    return crate


class Crate:
    """The entities of a crate. `copied` has the files of the run that are inside, `named` those that are not."""

    def __init__(self, contents: Contents, notes: Notes, models: bool):
        self.contents, self.models = contents, models
        self.software = read_yaml(PROJECT / "CITATION.cff")
        self.repository = str(self.software["repository-code"])
        # The commit of the last job comes last.
        self.commits = [*dict.fromkeys(str(job.made["commit"]) for job in reversed(contents.jobs))][::-1]
        self.copied: dict[str, int] = {}
        self.named: dict[str, int] = {}
        self.crate = ROCrate(version=SPECIFICATION)
        self.crate.metadata.extra_terms.update({"sha256": "http://schema.org/sha256"})
        self.author: Any = None
        self._entities: dict[str, Any] = {}
        self._describe(notes)
        workflow = self._workflow()
        self._copy_files()
        self._run(workflow, self._steps(workflow))
        self._readme()

    # ------------------------------------------------------------------------------------------------ description
    def _describe(self, notes: Notes) -> None:
        root, contents = self.crate.root_dataset, self.contents
        name = contents.config.get("name", "unnamed")
        root["name"] = f"Run {name} of captionlab"
        root["description"] = (
            f"Tables, captions and config of the run {name} of captionlab, and its {len(contents.jobs)} jobs with the "
            "digests of what they read and wrote."
        )
        root["datePublished"] = contents.jobs[-1].ended.isoformat(timespec="seconds")
        root["license"] = self._note("licence", "CreativeWork", notes.licence or UNLICENSED)
        if notes.author:
            self.author = root["author"] = self._note("author", "Person", notes.author)
        for address, (title, number) in PROFILES.items():
            profile = self._add(address, "CreativeWork", name=title, version=number)
            root.append_to("conformsTo", profile)

    def _add(self, address: str, kind: str, /, **properties: Any) -> Any:
        known = {key: _single(value) for key, value in properties.items() if value not in (None, [], "")}
        return self.crate.add(ContextEntity(self.crate, address, {"@type": kind, **known}))

    def _note(self, name: str, kind: str, text: str) -> Any:
        """Return the entity of a licence or an author: its address, if the text ends in one, and its name."""
        *words, last = text.split()
        address = last if last.startswith("http") else f"#{name}"
        return self._add(address, kind, name=" ".join(words) if words and address == last else text)

    def _workflow(self) -> Any:
        workflow = self.crate.add_workflow(
            PROJECT / SNAKEFILE,
            SNAKEFILE,
            main=True,
            lang="snakemake",
            lang_version=version("snakemake"),
            properties={
                "@type": ["File", "SoftwareSourceCode", "ComputationalWorkflow", "HowTo"],
                "name": self.software["title"],
                "version": ", ".join(self.commits),
                "codeRepository": self.repository,
                "url": self.repository,
                "license": f"https://spdx.org/licenses/{self.software['license']}",
                "conformsTo": {"@id": WORKFLOW_PROFILE},
                **_facts(PROJECT / SNAKEFILE),
            },
        )
        self.crate.metadata["conformsTo"] = [
            {"@id": f"https://w3id.org/ro/crate/{SPECIFICATION}"},
            {"@id": "https://w3id.org/workflowhub/workflow-ro-crate/1.0"},
        ]
        text = yaml.safe_dump(self.contents.public_config(), sort_keys=False, allow_unicode=True)
        about = {"name": "config", "description": "the whole config of the run", "encodingFormat": "application/yaml"}
        self.config = self.crate.add_file(StringIO(text), CONFIG, properties=about)
        if (PROJECT / LOCK).is_file():
            about = {"name": "lock file", "description": "versions of all packages that the workflow is tested with"}
            self.crate.add_file(PROJECT / LOCK, LOCK, properties={**about, **_facts(PROJECT / LOCK)})
        self.tables = self.crate.add_dataset(dest_path=f"{paths.TABLES}/", properties={"name": "tables of the run"})
        config = self._parameter("config", "File", self.config, "the config, by --configfile")
        tables = self._parameter("tables", "Dataset", self.tables, "the tables of the run")
        workflow["input"], workflow["output"] = config, tables
        return workflow

    def _parameter(self, name: str, kind: str, example: Any, text: str) -> Any:
        parameter = self._add(
            f"#parameter-{name}",
            "FormalParameter",
            name=name,
            description=text,
            additionalType=kind,
            conformsTo={"@id": PARAMETER_PROFILE},
            workExample={"@id": example.id},
            valueRequired="true",
        )
        example["exampleOfWork"] = parameter
        return parameter

    # ------------------------------------------------------------------------------------------------------ files
    def _file(self, name: str) -> Any:
        """Return the entity of a file of the run. A file that was not copied has only a description."""
        if name not in self._entities:
            self._entities[name] = self._named(self.contents.files[name])
        return self._entities[name]

    def _copy(self, name: str) -> Any:
        path = self.contents.folder / name
        facts = _facts(path)
        self.copied[name] = int(facts["contentSize"])
        entity = self.crate.add_file(path, name, properties={"name": name, **facts})
        self._entities[name] = entity
        return entity

    def _named(self, file: RecordedFile) -> Any:
        public = self.contents.public_name(file.name)
        facts: dict[str, Any] = {"identifier": f"blake2b-128:{file.digest}", "encodingFormat": _media_type(public)}
        if file.path is None:
            facts["description"] = "deleted or changed after the job that read or wrote it"
        elif file.path.is_file():
            facts |= _facts(file.path)
            self.named[public] = int(facts["contentSize"])
        return self._add(f"#{public}", "CreativeWork", name=public, **facts)

    def _copy_files(self) -> None:
        names = self.contents.captions()
        if self.models:
            folders = (self.contents.folder / paths.RESULTS / section for section in MODELS)
            files = (path for folder in folders for path in sorted(folder.rglob("*")) if path.suffix in OF_MODELS)
            names += [str(path.relative_to(self.contents.folder)) for path in files]
        names += [name for name, allowed in self.contents.tables() if allowed]
        entities = {name: self._copy(name) for name in names}
        self.tables["hasPart"] = _single([entities[name] for name in names if name.startswith(f"{paths.TABLES}/")])
        self._entities[paths.TABLES] = self.tables

    # ------------------------------------------------------------------------------------------------------- jobs
    def _steps(self, workflow: Any) -> list[Any]:
        """Add each rule as a step and a tool of the workflow, and its jobs; return the executions of all steps."""
        steps, tools, executions = [], [], []
        by_rule = defaultdict[str, list[RecordedJob]](list)
        for job in self.contents.jobs:
            by_rule[job.made["rule"]].append(job)
        for position, (rule, jobs) in enumerate(by_rule.items(), 1):
            commit = str(jobs[-1].made["commit"])
            address = f"{self.repository}/tree/{commit.rstrip('+')}#rule-{rule}"
            about = {"name": f"rule {rule}", "url": self.repository, "softwareVersion": commit}
            tool = self.crate.add(SoftwareApplication(self.crate, address, about))
            example = {"@id": tool.id}
            step = self._add(f"#step-{rule}", "HowToStep", name=rule, position=str(position), workExample=example)
            steps.append(step)
            tools.append(tool)
            executions += [self._execution(job, step, tool) for job in jobs]
        workflow["hasPart"], workflow["step"] = _single(tools), _single(steps)
        return executions

    def _execution(self, job: RecordedJob, step: Any, tool: Any) -> Any:
        made = job.made
        wildcards = ", ".join(f"{key} {value}" for key, value in made["wildcards"].items())
        versions = [f"{name} {number}" for name, number in made["params"].get("versions", {}).items()]
        seed = f"seed {made['params']['seed']}" if "seed" in made["params"] else ""
        served = [f"served by {model}" for model in made.get("served", [])]
        facts = [f"commit {made['commit']}", made["device"], f"Python {made['python']}", *versions, seed, *served]
        action = self._add(
            f"#job-{job.name}",
            "CreateAction",
            name=" ".join(filter(None, (made["rule"], wildcards))),
            description=without_home(", ".join(filter(None, facts))),
            instrument={"@id": tool.id},
            agent=self.author,
            startTime=job.started.isoformat(timespec="seconds") if job.started else None,
            endTime=job.ended.isoformat(timespec="seconds"),
            actionStatus=DONE,
            object=[self._file(name) for name in made["inputs"]],
            result=[self._file(name) for name in made["outputs"]],
        )
        self.crate.root_dataset.append_to("mentions", action)
        control = {"name": f"run of {made['rule']}", "instrument": {"@id": step.id}, "object": {"@id": action.id}}
        return self._add(f"#execution-{job.name}", "ControlAction", **control, actionStatus=DONE)

    def _run(self, workflow: Any, executions: list[Any]) -> None:
        starts = [job.started or job.ended for job in self.contents.jobs]
        captions = [self._file(name) for name in self.contents.captions()]
        times = {
            "startTime": min(starts).isoformat(timespec="seconds"),
            "endTime": self.contents.jobs[-1].ended.isoformat(timespec="seconds"),
        }
        run = self._add(
            "#run",
            "CreateAction",
            name=f"run of the config {self.contents.config.get('name', 'unnamed')}",
            description="the jobs behind the tables, from the first start to the last end; jobs that were not needed "
            "again keep the times at which they ran",
            instrument={"@id": workflow.id},
            agent=self.author,
            actionStatus=DONE,
            object=[self.config, *(self._file(name) for name in self.contents.inputs)],
            result=[self.tables, *captions],
            **times,
        )
        self.crate.root_dataset.append_to("mentions", run)
        about = {"name": "Snakemake", "url": "https://snakemake.github.io", "softwareVersion": version("snakemake")}
        engine = self.crate.add(SoftwareApplication(self.crate, "https://snakemake.github.io", about))
        self._add(
            "#engine",
            "OrganizeAction",
            name="Snakemake runs the jobs",
            instrument={"@id": engine.id},
            agent=self.author,
            object=executions,
            result={"@id": run.id},
            actionStatus=DONE,
            **times,
        )

    # ------------------------------------------------------------------------------------------------- for people
    def _readme(self) -> None:
        contents = self.contents
        described = {contents.public_name(name): contents.files[name] for name in contents.own_inputs}
        text = template("crate_readme.md.jinja").render(
            name=contents.config.get("name", "unnamed"),
            repository=self.repository,
            commits=self.commits,
            caveats=contents.caveats,
            uncommitted=any(commit.endswith("+") for commit in self.commits),
            jobs=len(contents.jobs),
            copied=self.copied,
            named=self.named,
            lock=(PROJECT / LOCK).is_file(),
            inputs=[(public, file.digest, self.named.get(public)) for public, file in described.items()],
            withheld=[name for name, allowed in contents.tables() if not allowed],
        )
        about = {"name": "README", "encodingFormat": "text/markdown", "about": {"@id": "./"}}
        self.crate.add_file(StringIO(text), README, properties=about)


def _facts(path: Path) -> dict[str, Any]:
    """Return digest, size and media type of a file, as RO-Crate names them."""
    return {"sha256": sha256(path), "contentSize": str(path.stat().st_size), "encodingFormat": _media_type(path.name)}


def _single(value: Any) -> Any:
    """Return the only value of a list, or the list if it has several values; any other value unchanged."""
    return value[0] if isinstance(value, list) and len(value) == 1 else value


def _media_type(name: str) -> str:
    return MEDIA_TYPES.get(Path(name).suffix) or mimetypes.guess_type(name)[0] or "application/octet-stream"
