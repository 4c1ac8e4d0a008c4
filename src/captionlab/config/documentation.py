"""Tables of the keys of a config, made from the models.

`python -m captionlab.config.documentation` writes them anew: in config/README.md between the lines
`<!-- keys: part -->` and `<!-- end -->`, and the families of captioners in docs/captioners.md. It also writes
config/schema.json, from which editors complete and check keys.
"""

import json
import re
from collections.abc import Iterator, Mapping
from types import NoneType, UnionType
from typing import Any, Literal, NamedTuple, Union, get_args, get_origin

import annotated_types
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from captionlab import plugins
from captionlab.config import (
    analyses,
    captioners,
    comparisons,
    corpora,
    encoders,
    evaluations,
    judges,
    own_tables,
    scorers,
    sections,
    training,
)
from captionlab.config.model import FileMark, Model, SeedMark
from captionlab.config.plugins import Cases, plugin_models
from captionlab.config.walking import ValueType, type_of
from captionlab.installation import PROJECT

README, CAPTIONERS = PROJECT / "config" / "README.md", PROJECT / "docs" / "captioners.md"
SCHEMA = PROJECT / "config" / "schema.json"
_TABLE = re.compile(r"(<!-- keys: (\S+) -->\n).*?(<!-- end -->)", re.DOTALL)
_FAMILIES = re.compile(r"(<!-- families -->\n).*?(<!-- end -->)", re.DOTALL)
_READS = {
    "vector": "a vector of an encoder",
    "patches": "patches of an encoder",
    "patches-or-pixels": "patches of an encoder, or the image itself",
    "tagged-regions": "regions and tags",
}
_TYPES = {int: "whole number", float: "number", str: "text", bool: "true or false", NoneType: "null"}
# The bounds of a number, in words; 64 bits are no bound that anybody meets.
_BOUNDS = {"ge": "from {}", "gt": "above {}", "le": "to {}", "lt": "below {}"}
_LARGEST = 2**63 - 1


class Cased(NamedTuple):
    """Models of a block by the value of one of its keys."""

    key: str
    models: Mapping[str, Any]


def parts() -> dict[str, Any]:
    """Return the subject of each table: a model, or several models by the value of a key."""
    families = {
        f"{name}_{form}": Cased("family", plugin_models(package, model))
        for name, package, form, model in (
            ("encoder", "encoders", "imported", "Imported"),
            ("encoder", "encoders", "trained", "Trained"),
            ("scorer", "scorers", "adopted", "Adopted"),
            ("scorer", "scorers", "imported", "Imported"),
            ("scorer", "scorers", "trained", "Trained"),
            ("captioner", "captioners", "imported", "Imported"),
            ("captioner", "captioners", "trained", "Trained"),
        )
    }
    return {
        "config": sections.Sections,
        "corpus": Cased("reader", corpora.corpus_models()),
        "encoder_patches": encoders.Patches,
        "encoder_reused": encoders.ReusedEncoder,
        "scorer_reused": scorers.ReusedScorer,
        "captioner_reused": captioners.ReusedCaptioner,
        **families,
        "captioner_finetuned": captioners.FinetunedCaptioner,
        "captioner_file": captioners.CaptionFile,
        "captioner_endpoint": captioners.ServedCaptioner,
        "captioner_human": captioners.HumanCaptions,
        "captioner_constructed": captioners.ConstructedCaptions,
        "regions": Cased("source", corpora.REGIONS),
        "tags": corpora.Tags,
        "lora": training.Lora,
        "validation": training.Validation,
        "optimizer": training.Optimizer,
        **{f"objective_{kind}": model for kind, model in plugin_models("training.objectives").items()},
        "bag_size": training.BagSize,
        "reward": Cased("kind", plugin_models("training.rewards")),
        "checkpoints": sections.Checkpoints,
        "decoding": Cased("kind", evaluations.DECODINGS),
        "evaluation": sections.evaluation_model(),
        "metric": evaluations.CommandMetric,
        "judge": Cased("kind", judges.JUDGES),
        "comparison": comparisons.Comparison,
        "judgements": Cased("reader", sections.judgement_models()),
        "questions": Cased("reader", plugin_models("questions.readers")),
        "answerer": Cased("kind", plugin_models("questions.answerers")),
        "own_table": own_tables.Choice,
        "own_table_metric": own_tables.ChosenMetric,
        "validity": analyses.Validity,
        "language": analyses.Language,
        "scene_analysis": analyses.SceneAnalysis,
        "study": analyses.Study,
        **{f"papers.{name}": block for name, block in sections.paper_blocks().items()},
        "papers.discritune.variants": plugins.config_module("papers", "discritune").Variants,
    }


def with_tables(text: str) -> str:
    """Return a page with its tables of keys made anew."""
    known = parts()
    return _TABLE.sub(lambda match: f"{match[1]}{_table(known[match[2]])}{match[3]}", text)


def with_families(text: str) -> str:
    """Return a page with its table of the families of captioners made anew."""
    lines = [
        ["family", "reads of an image", "from scratch", "objectives", "attention to tags, and ablation"],
        ["---"] * 5,
    ]
    for name, facts in plugins.facts("captioners").items():
        scratch = "yes" if name in plugin_models("captioners", "Trained") else "no"
        lines.append(
            [f"`{name}`", _READS[facts.reads], scratch, ", ".join(facts.objectives), "yes" if facts.attention else "no"]
        )
    return _FAMILIES.sub(lambda match: f"{match[1]}{_markdown(lines)}{match[2]}", text)


class Row(NamedTuple):
    """The documentation of a key."""

    key: str
    what: str
    values: str
    default: str


def _table(part: Any) -> str:
    """Return the table of a model; of several, each row says which models have it, and none if all have."""
    if not isinstance(part, Cased):
        rows = [[f"`{row.key}`", *row[1:]] for row in _rows(part)]
        return _markdown([["key", "what", "values", "default"], ["---"] * 4, *rows])
    found: dict[Row, list[str]] = {}
    for name, model in part.models.items():
        for row in _rows(model):
            found.setdefault(row, []).append(f"`{name}`")
    order = list(dict.fromkeys(row.key for row in found))
    lines = [[f"`{part.key}`", "key", "what", "values", "default"], ["---"] * 5]
    lines.append(["", f"`{part.key}`", "", ", ".join(f"`{name}`" for name in part.models), "required"])
    for row in sorted(found, key=lambda row: order.index(row.key)):
        whose = "" if len(found[row]) == len(part.models) else ", ".join(found[row])
        lines.append([whose, f"`{row.key}`", *row[1:]])
    return _markdown(lines)


def _markdown(lines: list[list[str]]) -> str:
    return "".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |\n" for line in lines)


def _rows(model: Any, before: str = "") -> Iterator[Row]:
    """Yield a row for each key, and behind it rows for the keys of its block if the block has no table of its own."""
    for key, field in model.model_fields.items():
        if field.description is None:  # what names the model, as `family`, and sections, which have their own tables
            continue
        inner = _inner(field)
        if inner is None or field.description:
            yield Row(before + key, field.description, "" if inner else _values(type_of(field)), _default(field))
        if inner is not None:
            yield from _rows(inner, f"{before}{key}.")


# Blocks with a section of their own on the page.
_SECTIONS = ("answerer", "lora", "objective", "optimizer", "reward", "validation")


def _inner(field: FieldInfo) -> type[Model] | None:
    """Return the model of a block whose keys are shown together with the keys of the block around it."""
    shown_elsewhere = {training.Optimizer, training.Validation, training.Lora}
    model = type_of(field).of({}).model if not any(isinstance(mark, Cases) for mark in field.metadata) else None
    return None if model is None or model in shown_elsewhere else model


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "required"
    if type_of(field).has(SeedMark):
        return "the config's `seed`"
    if field.default in (None, PydanticUndefined) or isinstance(field.default, Model):
        return ""
    default = field.default
    return f"`{default if isinstance(default, str) else json.dumps(default, ensure_ascii=False)}`"


def _values(part: ValueType) -> str:
    """Return the possible values of a key, in words."""
    if part.ref:
        return f"name in `{part.ref.section}`"
    if part.has(FileMark):
        return "path"
    if any(isinstance(mark, Cases) for mark in part.marks) or part.model is not None:
        name = part.type.__name__.lower() if part.model is not None else ""
        return f"block [`{name}`](#{name})" if name in _SECTIONS else f"block `{name}`" if name else "block"
    kind, arguments = get_origin(part.type), get_args(part.type)
    if kind is Literal:
        return ", ".join(f"`{json.dumps(value).strip(chr(34))}`" for value in arguments)
    if kind in (Union, UnionType):
        members = [_values(part.inside(member)) for member in arguments if member is not NoneType]
        return " or ".join(dict.fromkeys(members))
    if kind is list:
        item = part.inside(arguments[0])
        return f"names in `{item.ref.section}`" if item.ref else f"list: {_values(item)}"
    if kind is dict:
        return "mapping" if arguments[1] is Any else f"mapping to {_values(part.inside(arguments[1]))}"
    bounds = [_BOUNDS[name].format(value) for name, value in _bounds(part) if value != _LARGEST]
    return " ".join([_TYPES.get(part.type, "text"), *bounds])


def _bounds(part: ValueType) -> Iterator[tuple[str, Any]]:
    """Yield the bounds of a number by their name."""
    for mark in part.marks:
        for one in getattr(mark, "metadata", [mark]):
            for name, kind in (
                ("ge", annotated_types.Ge),
                ("gt", annotated_types.Gt),
                ("le", annotated_types.Le),
                ("lt", annotated_types.Lt),
            ):
                if isinstance(one, kind):
                    bound = getattr(one, name)
                    yield ("ge", 1) if (name, bound, part.type) == ("gt", 0, int) else (name, bound)


def json_schema() -> str:
    """Return the JSON Schema of a config file, which may hold a part of a config."""
    schema = _of_one_file(sections.config_model().model_json_schema())
    return json.dumps({"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}, indent=1) + "\n"


def _of_one_file(schema: Any) -> Any:
    """Return a JSON Schema as it holds for one of several files of a config, which Snakemake merges.

    No file needs all keys of a block. A key with null takes the key of an earlier file away. A block with few keys may
    belong to several models.
    """
    if isinstance(schema, list):
        return [_of_one_file(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    changed = {"anyOf" if key == "oneOf" else key: _of_one_file(value) for key, value in schema.items()}
    if schema.get("type") == "object":
        changed.pop("required", None)
        for names in {"properties", "patternProperties"} & schema.keys():
            changed[names] = {name: _or_null(value) for name, value in changed[names].items()}
        others = changed.get("additionalProperties")
        changed["additionalProperties"] = _or_null(others) if isinstance(others, dict) else others or {"type": "null"}
    return changed


def _or_null(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return a JSON Schema that also allows null. The description stays where editors show it."""
    described = {"description": schema["description"]} if "description" in schema else {}
    return {**described, "anyOf": [schema, {"type": "null"}]}


if __name__ == "__main__":
    README.write_text(with_tables(README.read_text(encoding="utf-8")), encoding="utf-8")
    CAPTIONERS.write_text(with_families(CAPTIONERS.read_text(encoding="utf-8")), encoding="utf-8")
    SCHEMA.write_text(json_schema(), encoding="utf-8")
