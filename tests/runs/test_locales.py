"""The workflow under a locale with decimal commas, and under LANG=C with options of Java: the tables are the same."""

import csv
import os
import sys
from pathlib import Path

import pytest
from PIL import Image
from support.locales import ENVIRONMENTS, PRINTING_COMMAND
from support.small import start

CAPTIONS = {"ä1": "a red ball", "b2": "naïve «red» Bär", "c3": "a ball on the grass"}
# The environments of support.locales, of which a user has one or two.
USERS = (["commas"], ["C", "java"])


def tables(place: Path, variables: dict[str, str]) -> dict[str, bytes]:
    """Return the tables of scores, and their summary, of a run of a user with these variables."""
    folder = place / "Bär"
    (folder / "images").mkdir(parents=True)
    for number, name in enumerate(CAPTIONS):
        Image.new("RGB", (8, 8), (100 * number, 0, 0)).save(folder / "images" / f"{name}.png")
    with open(folder / "captions.csv", "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(
            [("file", "caption"), *((f"{name}.png", f"{CAPTIONS[name]} ÉTÉ") for name in CAPTIONS)]
        )
    with open(folder / "said.csv", "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("image_id", "caption"), *CAPTIONS.items()])
    (folder / "judge.py").write_text(PRINTING_COMMAND, encoding="utf-8")
    judge = {"command": f"{sys.executable} judge.py", "version": "1", "scale": 1}
    config = {
        "seed": 1,
        "spice": "off",
        "data": str(folder),
        "corpora": {"photos": {"reader": "folder", "images": "images", "captions": "captions.csv"}},
        "captioners": {"mine": {"family": "file", "captions": {"photos": "said.csv"}}},
        "metrics": {"judge": judge},
        "evaluations": {"main": {"captioners": ["mine"], "corpora": ["photos"], "metrics": ["judge"]}},
    }
    run, output = place / "Läufe", place / "output"
    target = "results/reporting/summary.parquet"
    started = start(run, config, "--cores", "1", target, output=output, environment={**os.environ, **variables})
    assert started.wait() == 0, output.read_text(encoding="utf-8", errors="replace")
    made = [path for place in ("reporting", "evaluation") for path in (run / "results" / place).rglob("*.*")]
    return {path.relative_to(run).as_posix(): path.read_bytes() for path in made}


@pytest.fixture(scope="module")
def expected(tmp_path_factory) -> dict[str, bytes]:
    found = tables(tmp_path_factory.mktemp("expected"), {"LC_ALL": "C.UTF-8"})
    assert "results/evaluation/nlg/main.parquet" in found
    return found


@pytest.mark.slow
@pytest.mark.parametrize("names", USERS)
def test_tables_are_the_same(expected, tmp_path, names):
    variables = {key: value for name in names for key, value in ENVIRONMENTS[name](tmp_path).items()}
    assert tables(tmp_path / "here", variables) == expected
