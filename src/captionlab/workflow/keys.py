"""Tables in the documentation that are made of the schema of a config and what modules declare.

`python -m captionlab.workflow.keys` writes them anew. Those of keys, in config/README.md, are between the lines
`<!-- keys: part -->` and `<!-- end -->`; a part is one of the schema's, `config` for the keys at the top, or a section
and keys below it, as `papers.<paper>`. That of families of captioners is behind `<!-- families -->`.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from captionlab.workflow import config
from captionlab.workflow.blocks import Block
from captionlab.workflow.families import captioners
from captionlab.workflow.schema import Schema

ROOT = Path(__file__).parents[3]
README, SCHEMA = ROOT / "config" / "README.md", ROOT / config.SCHEMA
CAPTIONERS = ROOT / "docs" / "captioners.md"
_TABLE = re.compile(r"(<!-- keys: (\S+) -->\n).*?(<!-- end -->)", re.DOTALL)
_FAMILIES = re.compile(r"(<!-- families -->\n).*?(<!-- end -->)", re.DOTALL)
_READS = {
    "vector": "a vector of an encoder",
    "patches": "patches of an encoder",
    "patches-or-pixels": "patches of an encoder, or the image itself",
    "regions": "regions",
    "tagged-regions": "regions and tags",
}
_BOUNDS = {"minimum": "from {}", "exclusiveMinimum": "above {}", "maximum": "to {}", "exclusiveMaximum": "below {}"}
_TYPES = {"integer": "whole number", "string": "text", "boolean": "true or false", "null": "null"}


class Row(NamedTuple):
    """What is said of a key."""

    key: str
    what: str
    values: str
    default: str


def with_tables(text: str, schema: Schema) -> str:
    """A page with its tables as the schema has them."""
    return _TABLE.sub(lambda found: f"{found[1]}{_table(_part(schema, found[2]), schema)}{found[3]}", text)


def with_families(text: str) -> str:
    """A page with its table of families of captioners, and what can be done with each, as they declare it."""
    lines = [
        ["family", "reads of an image", "from scratch", "objectives", "attention to tags, and ablation"],
        ["---"] * 5,
    ]
    for name, family in captioners().items():
        able = "yes" if family.attention else "no"
        scratch, objectives = "yes" if family.architecture else "no", ", ".join(family.objectives)
        lines.append([f"`{name}`", _READS[family.reads], scratch, objectives, able])
    table = "".join(f"| {' | '.join(line)} |\n" for line in lines)
    return _FAMILIES.sub(lambda found: f"{found[1]}{table}{found[2]}", text)


def _part(schema: Schema, name: str) -> Block:
    if name == "config":
        keys = schema.root["properties"].items()
        return {
            **schema.root,
            "properties": {k: part for k, part in keys if schema.case({}, part).get("type") != "object"},
        }
    first, *keys = name.split(".")
    found: Block = schema.root["properties"][first] if keys else schema.definitions[first]
    for key in keys:
        found = found["properties"][key]
    return found if "properties" in found or "union" in found else found["additionalProperties"]


def _table(part: Block, schema: Schema) -> str:
    """A table of the keys of a part; of a union, with the cases that have each of them and no table of their own."""
    whole = {name: case for name, case in part.get("cases", {"": part}).items() if not case.get("untrained")}
    cases = {name: case for name, case in whole.items() if "$ref" not in case}
    rows: dict[Row, list[str]] = {}
    if key := part.get("union"):
        rows[Row(key, "", ", ".join(f"`{name}`" for name in whole), "required")] = [*cases]
    for name, case in cases.items():
        for row in _rows(case, schema):
            rows.setdefault(row, []).append(f"`{name}`")
    order = list(dict.fromkeys(row.key for row in rows))
    first = [f"`{part['union']}`"] if "union" in part else []
    lines = [[*first, "key", "what", "values", "default"], ["---"] * (len(first) + 4)]
    for row in sorted(rows, key=lambda row: order.index(row.key)):
        whose = "" if len(rows[row]) == len(cases) else ", ".join(rows[row])
        lines.append([*([whose] if first else []), f"`{row.key}`", *row[1:]])
    return "".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |\n" for line in lines)


def _rows(part: Block, schema: Schema, before: str = "") -> Iterator[Row]:
    always = [rule for rule in part.get("rules", []) if not {"when", "unless"} & rule.keys()]
    required = {*part.get("required", []), *(key for rule in always for key in rule.get("needs", []))}
    hidden = {key for rule in always for key in rule.get("forbids", [])}
    for key, of_key in part["properties"].items():
        if "const" in of_key or key in hidden:
            continue
        inner = "properties" in of_key
        default = "required" if key in required else ""
        if "default_of" in of_key:
            default = f"the config's `{of_key['default_of']}`"
        elif "default" in of_key and not inner:
            default = f"`{json.dumps(of_key['default'], ensure_ascii=False).strip(chr(34))}`"
        what = of_key.get("description") or schema.case({}, of_key).get("description", "")
        if not inner or what:
            yield Row(before + key, what, "" if inner else _values(of_key, schema), default)
        if inner:
            yield from _rows(of_key, schema, f"{before}{key}.")


def _values(part: Any, schema: Schema) -> str:
    """What may stand under a key, in words."""
    if "names" in part:
        several = part.get("type") == "array" or "$ref" in part
        return f"{'names' if several else 'name'} in `{part['names']}`"
    if "$ref" in part:
        name = part["$ref"].rpartition("/")[2]
        if name == "path":
            return name
        target = schema.definitions[name]
        return f"block `{name.partition('_')[0]}`" if {"union", "properties"} & {*target} else _values(target, schema)
    if "enum" in part:
        return ", ".join(f"`{json.dumps(value).strip(chr(34))}`" for value in part["enum"])
    if "anyOf" in part:
        return " or ".join(_values(one, schema) for one in part["anyOf"])
    kinds: list[str] = part["type"] if isinstance(part["type"], list) else [part["type"]]
    if kinds == ["array"]:
        return f"list: {_values(part['items'], schema)}"
    if kinds == ["object"]:
        other = part.get("additionalProperties")
        plain = isinstance(other, dict) and "properties" not in other
        return f"mapping to {_values(other, schema)}" if plain else "mapping"
    bounds = [text.format(part[bound]) for bound, text in _BOUNDS.items() if bound in part]
    return " ".join([" or ".join(_TYPES.get(kind, kind) for kind in kinds), *bounds])


if __name__ == "__main__":
    README.write_text(with_tables(README.read_text(encoding="utf-8"), Schema(SCHEMA)), encoding="utf-8")
    CAPTIONERS.write_text(with_families(CAPTIONERS.read_text(encoding="utf-8")), encoding="utf-8")
