"""Rows of docs/fidelity.md: each names keys and values that the schema of a config has, and stands there once."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from captionlab.workflow.schema import Schema

from captionlab.workflow.keys import SCHEMA

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "fidelity.md"
# Keys by their whole name, `*` standing for a name that a config gives, with the parts of the schema that may be there.
Keys = dict[str, list[dict[str, Any]]]


def rows(text: str) -> Iterator[tuple[str, list[str]]]:
    """Yield the paper and the cells of every row of a table whose last column is headed `config key`."""
    paper, inside = "", False
    for line in text.splitlines():
        if line.startswith("## "):
            paper = line.removeprefix("## ").partition(" (")[0]
        if not line.startswith("|"):
            inside = False
            continue
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        if inside and not cells[0].startswith("---"):
            yield paper, cells
        inside = inside or cells[-1] == "config key"


def parts_below(schema: Schema, part: Any, name: str, above: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
    """Yield every key below a part of the schema with its own part; a part within itself is left out."""
    if not isinstance(part, dict):
        return
    if reference := part.get("$ref"):
        target = reference.rpartition("/")[2]
        if target not in above:
            yield from parts_below(schema, schema.definitions[target], name, (*above, target))
    cases = [*part.get("cases", {}).values(), part.get("otherwise"), part.get("items"), *part.get("anyOf", [])]
    for case in cases:
        yield from parts_below(schema, case, name, above)
    inner = {"*": part.get("additionalProperties"), **part.get("properties", {})}
    for key, of_key in inner.items():
        if isinstance(of_key, dict):
            whole = f"{name}.{key}" if name else key
            yield whole, of_key
            yield from parts_below(schema, of_key, whole, above)


@pytest.fixture(scope="module")
def keys() -> Keys:
    schema, found = Schema(SCHEMA), defaultdict(list)
    for key, part in parts_below(schema, schema.root, ""):
        found[key].append(part)
    return found


def values_of(parts: list[dict[str, Any]]) -> set[Any]:
    """Return the values that a key names, as far as its parts list them."""
    booleans = {True, False} if any(part.get("type") == "boolean" for part in parts) else set()
    enums = {value for part in parts for value in part.get("enum", [])}
    return booleans | enums | {part["const"] for part in parts if "const" in part}


def mistakes(cell: str, keys: Keys) -> Iterator[str]:
    """Yield what is wrong with the keys of a cell; a key that starts with a point stands beside the one before it."""
    before = ""
    for span in re.findall(r"`([^`]+)`", cell):
        name, _, text = span.partition(": ")
        if "/" in name:
            if not (ROOT / name).exists():
                yield f"{name} is no file"
            continue
        before = name = before.rpartition(".")[0] + name if name.startswith(".") else name
        value = yaml.safe_load(text) if text.startswith("{") else [*map(yaml.safe_load, text.split(" \\| "))]
        named = {name: value} if isinstance(value, list) else {f"{name}.{key}": [one] for key, one in value.items()}
        for key, several in named.items():
            parts = [part for known, of in keys.items() if f".{known}".endswith(f".{key}") for part in of]
            if not parts:
                yield f"{key} is no key of a config"
                continue
            allowed = values_of(parts)
            yield from (f"{key} cannot be {one!r}" for one in several if text and allowed and one not in allowed)


def test_every_key_exists_and_has_the_values(keys):
    found = [*rows(PAGE.read_text(encoding="utf-8"))]
    assert [f"{paper}, {cells[0]}: {wrong}" for paper, cells in found for wrong in mistakes(cells[-1], keys)] == []


def test_rows_are_read_whole():
    """None is overlooked: every paper has rows, each with a cell that names a key or says `none`."""
    found = [*rows(PAGE.read_text(encoding="utf-8"))]
    papers = re.findall(r"^## (\w+) \(", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert {paper for paper, _ in found} == {*papers}
    assert len(found) > 130
    assert [cells for _, cells in found if not ("`" in cells[-1] or cells[-1] == "none")] == []
    assert {len(cells) for _, cells in found} <= {4, 5}


def test_no_row_stands_twice():
    found = Counter(
        (paper, re.sub(r" \(.*\)$", "", cells[0])) for paper, cells in rows(PAGE.read_text(encoding="utf-8"))
    )
    assert [row for row, count in found.items() if count > 1] == []


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        ("`scene_analysis.pmi.min_count`, `.smoothing: laplace`", []),
        ("`information.least`", ["information.least is no key of a config"]),
        ("`scene_analysis.pmi.min_count`, `.least`", ["scene_analysis.pmi.least is no key of a config"]),
        ("`objective.reward.score: cosine \\| none`", ["objective.reward.score cannot be 'none'"]),
        ("`objective.reward.scale: none`", []),  # of a scorer, whose values are numbers and not listed
        ("`objective: {kind: reinforce, samples: 1, baseline: mean}`", ["objective.baseline cannot be 'mean'"]),
        ("`config/nowhere.csv`", ["config/nowhere.csv is no file"]),
    ],
)
def test_mistakes_are_seen(keys, cell, expected):
    assert [*mistakes(cell, keys)] == expected
