"""Write docs/licences.md: the licences of what requirements.lock names, and why those of envs/licences.yaml may be."""

import json
import re
import subprocess
import sys
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import yaml
from generate import pins
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[1]

HEADER = """\
# Licences of dependencies

captionlab is under the MIT licence ([LICENSE](../LICENSE)), `resources/en_ewt_sm` under CC BY-SA 4.0 (its
`NOTICE.md`). The packages of `requirements.lock` on Linux have these licences, as their metadata names them. This
page is written by `python envs/licences.py`. `envs/licences.yaml` says which licences are allowed, and a test fails
on any other. What SPICE downloads when it is asked for is not among them: Stanford CoreNLP is under the GPL 3, and
runs as a program of its own. Weights and data sets have licences of their own ([data.md](data.md)).

| package | licence | why it is fine, where it is not one for all |
|---|---|---|
"""


def installed() -> dict[str, str]:
    """The licence of each package of the lock file that is installed, by the package's name."""
    command = [sys.executable, "-m", "piplicenses", "--format=json", "--from=mixed", "--with-system"]
    found = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    locked = {
        canonicalize_name(pin.name) for pin in map(Requirement, pins()) if not pin.marker or pin.marker.evaluate()
    }
    return {
        row["Name"]: row["License"].partition("\n")[0]  # some packages have the whole text there
        for row in sorted(found, key=lambda row: row["Name"].lower())
        if canonicalize_name(row["Name"]) in locked
    }


def reason(package: str, licence: str, policy: Mapping[str, Any]) -> str | None:
    """Why a package may be used: "" where its licence is one for all, None where it may not."""
    for exception in policy["exceptions"]:
        if fnmatchcase(package, exception["packages"]) and licence == exception["licence"]:
            return exception["why"]
    alternatives = [re.split(r" AND |; ", part) for part in licence.split(" OR ")]
    return "" if any(set(parts) <= set(policy["allowed"]) for parts in alternatives) else None


def read_policy() -> dict[str, Any]:
    """What envs/licences.yaml says."""
    return yaml.safe_load((ROOT / "envs" / "licences.yaml").read_text())


def page(packages: Iterable[tuple[str, str]], policy: Mapping[str, Any]) -> str:
    """The text of docs/licences.md; SystemExit names the packages whose licences nobody allowed."""
    rows = [(package, licence, reason(package, licence, policy)) for package, licence in packages]
    refused = [f"{package}: {licence}" for package, licence, why in rows if why is None]
    if refused:
        raise SystemExit(
            "\n".join(["allow these licences in envs/licences.yaml, or do without the packages:", *refused])
        )
    return HEADER + "".join(f"| {package} | {licence} | {why} |\n" for package, licence, why in rows)


if __name__ == "__main__":
    (ROOT / "docs" / "licences.md").write_text(page(installed().items(), read_policy()))
