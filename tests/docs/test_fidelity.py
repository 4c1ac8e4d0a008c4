"""Rows of docs/fidelity.md: each names keys and values that a config has, and stands there once."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin

import pytest
import yaml

from captionlab.config.plugins import Cases
from captionlab.config.walking import ValueType, root, type_of

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "fidelity.md"
# Keys by their whole name, `*` standing for a name that a config gives, with the parts that may be there.
Keys = dict[str, list[ValueType]]


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


def parts_below(part: ValueType, name: str, above: tuple[Any, ...] = ()) -> Iterator[tuple[str, ValueType]]:
    """Yield every key below a part of a config with its own part; a model within itself is left out."""
    cases = [model for mark in part.marks if isinstance(mark, Cases) for model in mark.models().values()]
    if cases or part.model is None:
        below = f"{name}.*" if get_origin(part.type) is dict else name
        for inner in cases or get_args(part.type):
            yield from parts_below(part.inside(inner), below, above)
    elif part.model not in above:
        for key, field in part.model.model_fields.items():
            whole = f"{name}.{key}" if name else key
            yield whole, type_of(field)
            yield from parts_below(type_of(field), whole, (*above, part.model))


@pytest.fixture(scope="module")
def keys() -> Keys:
    found = defaultdict(list)
    for key, part in parts_below(root(), ""):
        found[key].append(part)
    return found


def values_of(parts: list[ValueType]) -> set[Any]:
    """Return the values that a key names, as far as its parts list them."""
    found: set[Any] = set()
    for part in parts:
        if get_origin(part.type) is Literal:
            found |= {*get_args(part.type)}
        elif get_origin(part.type) in (Union, UnionType):
            found |= values_of([part.inside(one) for one in get_args(part.type)])
        elif part.type is bool:
            found |= {True, False}
    return found


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
