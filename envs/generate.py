"""Write envs/captionlab.yaml, for `snakemake --sdm conda`, from requirements.lock: the same versions."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

HEADER = """\
# The environment of requirements.lock for people who run Snakemake with --sdm conda.
# Written by envs/generate.py; `./lab lock` brings both up to date.
name: captionlab
channels: [conda-forge, nodefaults]
dependencies:
  - python ~={python}
  - pip
  - pip:
"""


def pins(root: Path = ROOT) -> list[str]:
    """The requirements of the lock file, each with its extras, version and marker: `name[extra]==1.0 ; marker`."""
    lock = (root / "requirements.lock").read_text()
    return re.findall(r"^(\w[^=\n]*==[^\\\n]+?) *\\?$", lock, flags=re.MULTILINE)


def environment(root: Path = ROOT) -> str:
    """The text of envs/captionlab.yaml that belongs to the lock file."""
    floor = tomllib.loads((root / "pyproject.toml").read_text())["project"]["requires-python"]
    python = re.search(r"[\d.]+", floor)
    assert python, f"pyproject.toml: requires-python is {floor!r}"
    lines = [f'      - "{pin}"' for pin in pins(root)]
    return HEADER.format(python=python.group()) + "\n".join(lines) + "\n"


if __name__ == "__main__":
    (ROOT / "envs" / "captionlab.yaml").write_text(environment())
