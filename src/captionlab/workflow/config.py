"""The config, checked before the DAG is built: each mistake is one sentence that says where and what to write."""

import difflib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Self

import yaml
from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError

from captionlab.declarations import DeclarationError
from captionlab.workflow.blocks import RETRIEVAL, Block, captioner_kind, encoder_kind, scorer_kind
from captionlab.workflow.construction import construction_mistakes
from captionlab.workflow.families import family_parts
from captionlab.workflow.papers import paper_parts, papers_mistakes
from captionlab.workflow.references import reference_mistakes


class ConfigError(ValueError):
    """The config asks for something that cannot be done."""

    @classmethod
    def listing(cls, what: str, mistakes: list[str]) -> Self:
        """An error that lists mistakes, a line each."""
        return cls(f"{what}:\n" + "\n".join(f"  - {mistake}" for mistake in mistakes))


def validate_config(config: Block, schema_path: Path) -> None:
    """Raise a ConfigError that lists every mistake, one sentence each."""
    schema = yaml.safe_load(schema_path.read_text(encoding="utf-8"))
    try:
        schema["$defs"] |= family_parts()
        schema["properties"]["papers"]["properties"] = paper_parts()
    except DeclarationError as error:
        raise ConfigError(str(error)) from error
    mistakes = list(_schema_mistakes(config, schema))
    mistakes = mistakes or [*reference_mistakes(config), *construction_mistakes(config), *papers_mistakes(config)]
    if mistakes:
        raise ConfigError.listing("the config cannot be run", mistakes)


def _schema_mistakes(config: Block, schema: Block) -> Iterator[str]:
    yield from _validate(config, schema, schema, ())
    for name, corpus in _mapping(config, "corpora"):
        reader = corpus.get("reader")
        if isinstance(reader, str) and f"corpus_{reader}" in schema["$defs"]:
            yield from _validate(corpus, schema["$defs"][f"corpus_{reader}"], schema, ("corpora", name))
    for name, decoding in _mapping(config, "decodings"):
        if decoding.get("kind") in ("greedy", "sample", "beam"):
            part = schema["$defs"][f"decoding_{decoding['kind']}"]
            yield from _validate(decoding, part, schema, ("decodings", name))
    for name, encoder in _mapping(config, "encoders"):
        part = _of_family(f"encoder_{encoder_kind(encoder)}", encoder, schema)
        yield from _validate(encoder, part, schema, ("encoders", name))
    for name, captioner in _mapping(config, "captioners"):
        part = _of_family(f"captioner_{captioner_kind(captioner)}", captioner, schema)
        yield from _validate(captioner, part, schema, ("captioners", name))
        yield from _objective_mistakes(captioner.get("objective"), schema, ("captioners", name, "objective"))
    for name, regions in _mapping(config, "regions"):
        if regions.get("source") in ("boxes", "files", "detector"):
            yield from _validate(regions, schema["$defs"][f"regions_{regions['source']}"], schema, ("regions", name))
    for name, scorer in _mapping(config, "scorers"):
        part = _of_family(f"scorer_{scorer_kind(scorer)}", scorer, schema)
        yield from _validate(scorer, part, schema, ("scorers", name))


def _of_family(name: str, block: Block, schema: Block) -> Block:
    """The definition of that name for the family of a block, or, where there is none, for any family."""
    return schema["$defs"].get(f"{name}_{block.get('family')}", schema["$defs"][name])


def _objective_mistakes(objective: Any, schema: Block, where: tuple[str, ...]) -> Iterator[str]:
    """What the kind of an objective and the kinds of its rewards say of their keys."""
    if not isinstance(objective, dict):
        return
    part = schema["$defs"].get(f"objective_{objective.get('kind')}")
    if part:
        yield from _validate(objective, part, schema, where)
        yield from _reward_mistakes(objective.get("reward"), schema, (*where, "reward"))


def _reward_mistakes(reward: Any, schema: Block, where: tuple[str, ...]) -> Iterator[str]:
    if not isinstance(reward, dict) or "kind" not in reward:
        return
    kind = "retrieval" if reward["kind"] in RETRIEVAL else reward["kind"]
    if part := schema["$defs"].get(f"reward_{kind}"):
        yield from _validate(reward, part, schema, where)
        parts = reward.get("of")
        for number, inner in enumerate(parts if isinstance(parts, list) else []):
            weighed = kind == "sum" and isinstance(inner, dict)
            place = (*where, "of", str(number), *(["reward"] if weighed else []))
            yield from _reward_mistakes(inner.get("reward") if weighed else inner, schema, place)


def _mapping(config: Block, section: str) -> Iterator[tuple[str, Block]]:
    blocks = config.get(section) or {}
    if isinstance(blocks, dict):
        yield from ((name, block) for name, block in blocks.items() if isinstance(block, dict))


def _validate(value: Any, part: Block, schema: Block, where: tuple[str, ...]) -> Iterator[str]:
    validator = Draft202012Validator({"$defs": schema["$defs"], **part})
    for error in sorted(validator.iter_errors(value), key=lambda e: [str(p) for p in e.absolute_path]):
        yield from _sentences(error, where, schema)


def _sentences(error: ValidationError, where: tuple[str, ...], schema: Block) -> Iterator[str]:
    place = ".".join([*where, *map(str, error.absolute_path)]) or "the top level"
    if error.validator in ("additionalProperties", "unevaluatedProperties") and isinstance(error.instance, dict):
        known = _known_keys(error.schema, schema)
        for key in sorted(set(error.instance) - known):
            close = difflib.get_close_matches(str(key), sorted(known), n=1)
            hint = f"did you mean {close[0]!r}?" if close else f"known keys: {', '.join(sorted(known))}"
            yield f"{place} has no key {key!r}{_able(key, error.schema, schema)}; {hint}"
    elif error.validator == "type" and error.validator_value == "number" and isinstance(error.instance, str):
        yield f"{place} must be a number; YAML reads {error.instance!r} as text, write it with a point, as 1.0e-4"
    elif error.validator == "enum":
        close = difflib.get_close_matches(str(error.instance), [str(v) for v in error.validator_value], n=1)
        hint = f" Did you mean {close[0]!r}?" if close else ""
        yield f"{place} is {error.instance!r}; it must be one of {', '.join(map(str, error.validator_value))}.{hint}"
    elif error.validator == "required":
        yield f"{place} lacks the key {error.message.split(' is a required')[0]}"
    elif error.validator == "oneOf":
        yield f"{place} must have exactly one of the keys epochs and steps"
    else:
        yield f"{place}: {error.message}"


def _able(key: str, part: Mapping[str, Any], schema: Block) -> str:
    """Which other definitions that extend the same one as this part have a key, where it extends one."""
    siblings = {name: other for name, other in schema["$defs"].items() if other.get("$ref", "") == part.get("$ref")}
    able = {name.rpartition("_")[2] for name, other in siblings.items() if key in other.get("properties", {})}
    return f", which {' and '.join(sorted(able))} can have" if able else ""


def _known_keys(part: Mapping[str, Any], schema: Block) -> set[str]:
    """The keys of a part of the schema and of the part that it extends."""
    known = set(part.get("properties", {}))
    if "$ref" in part:
        known |= _known_keys(schema["$defs"][part["$ref"].rsplit("/", 1)[-1]], schema)
    return known
