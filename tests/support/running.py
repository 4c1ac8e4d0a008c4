"""The scripts of rules, run as Snakemake runs them."""

import json
import os
import re
import runpy
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from snakemake.iocontainers import InputFiles, Log, Namedlist, OutputFiles, Params, ResourceList, Snakemake, Wildcards
from support.records import python_path

TESTS = Path(__file__).parents[1]
SCRIPTS = TESTS.parent / "workflow" / "scripts"

# What the linter says of the design: an input function stands directly above its rule.
FUNCTIONS_BESIDE_RULES = "Mixed rules and functions in same snakefile."

File = str | os.PathLike[str]
# By name, one file or several; or all of them in a list.
Files = Mapping[str, File | Sequence[File]] | Sequence[File]


def load_script(name: str) -> SimpleNamespace:
    """What workflow/scripts/{name}.py defines."""
    return SimpleNamespace(**runpy.run_path(str(SCRIPTS / f"{name}.py")))


def run_script(
    name: str,
    inputs: Files,
    outputs: Files,
    *,
    wildcards: Mapping[str, str] | None = None,
    threads: int = 1,
    resources: Mapping[str, Any] | None = None,
    workflow_config: Mapping[str, Any] | None = None,
    **params: Any,
) -> None:
    """Run the script of the rule `name`, in this process, with these inputs, outputs and parameters."""
    job = Snakemake(
        _named(InputFiles(), inputs),
        _named(OutputFiles(), outputs),
        Params(fromdict=params),
        Wildcards(fromdict=dict(wildcards or {})),
        threads,
        ResourceList(fromdict=dict(resources or {})),
        Log(),
        dict(workflow_config or {}),
        name,
        None,
    )
    load_script(name).main(job)


def run_python(checkout: Path, code: str, *arguments: Any) -> str:
    """What a program prints that runs in a copy of the checkout; if it fails, what it says of that."""
    command = [sys.executable, "-c", code, *map(str, arguments)]
    environment = {"PYTHONPATH": str(checkout / "src"), "PATH": ""}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=checkout)
    return done.stderr if done.returncode else done.stdout


def run_script_in(checkout: Path, folder: Path, name: str, inputs: Files, outputs: Files, **options: Any) -> None:
    """Run the script of a rule, as run_script, in a folder and with the library of a copy of the checkout."""
    code = "import json, sys; from support.running import run_script; given = json.loads(sys.argv[1]); "
    code += "run_script(given.pop('name'), given.pop('inputs'), given.pop('outputs'), **given)"
    given = json.dumps({"name": name, "inputs": inputs, "outputs": outputs, **options}, default=str)
    environment = {**os.environ, "PYTHONPATH": python_path(checkout / "src", TESTS)}
    command = [sys.executable, "-c", code, given]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def _named(files: Namedlist, given: Files) -> Namedlist:
    """Files in one list, in which each name stands for one or for several of them."""
    if not isinstance(given, Mapping):
        files.extend(map(os.fspath, given))
        return files
    for name, value in given.items():
        start = len(files)
        several = not isinstance(value, (str, os.PathLike))
        files.extend(map(os.fspath, value if several else [value]))
        files._set_name(name, start, end=len(files) if several else None)
    return files


def lint(snakemake: Sequence[str], checkout: Path, environment: Mapping[str, str] | None = None) -> set[str]:
    """Return the titles of everything that Snakemake's linter finds in a checkout."""
    done = subprocess.run([*snakemake, "--lint"], cwd=checkout, env=environment, capture_output=True, text=True)
    assert "Traceback" not in done.stderr, done.stderr
    return set(re.findall(r"^ +\* (.*):$", done.stderr, re.MULTILINE))
