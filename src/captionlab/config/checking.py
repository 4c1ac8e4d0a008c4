"""Check of a config against the models: one sentence for each mistake."""

import difflib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from captionlab.config.metric_names import COMMANDS, KNOWN, known_metric
from captionlab.config.model import Block
from captionlab.config.names import hint, lookup_in
from captionlab.config.sections import config_model
from captionlab.config.walking import alternatives, key_of_family, type_at

# Sentences by the type of pydantic's error. {value} is the value; other names are in the context of the error.
PLAIN = {
    "string_type": "is {value!r}; it must be text",
    "int_type": "is {value!r}; it must be a whole number",
    "int_from_float": "is {value!r}; it must be a whole number",
    "float_type": "is {value!r}; it must be a number",
    "bool_type": "is {value!r}; it must be true or false",
    "list_type": "is {value!r}; it must be a list",
    "dict_type": "is {value!r}; it must be a mapping",
    "model_type": "is {value!r}; it must be a mapping",
    "finite_number": "is {value!r}; it must be a finite number",
    "greater_than": "is {value}; it must be above {gt}",
    "greater_than_equal": "is {value}; it must be at least {ge}",
    "less_than": "is {value}; it must be below {lt}",
    "less_than_equal": "is {value}; it must be at most {le}",
    "string_too_short": "is empty",
    "string_pattern_mismatch": "is {value!r}; it must match {pattern}",
    "too_short": "is {value}; it must have at least {min_length} of them",
    "too_long": "is {value}; it must have at most {max_length} of them",
    "unique": "is {value}; something in it is there twice",
}
NULL = "has no value, and no --configfile before it has one to take away; write one or drop the key"
ON_TOP = "; if this config goes on top of another, name both, as in --configfile config/config.yaml mine.yaml"
NONE_OF_THEM = "which is none of the values that may stand there (config/README.md)"
# Sections whose blocks ask for metrics.
EVALUATED = ("evaluations", "judgements")
KeyPath = tuple[int | str, ...]


class Checked(NamedTuple):
    """The mistakes of a config, and whether every name leads to a block and every block fits its model."""

    sentences: list[str]
    whole: bool


def check(config: Block) -> Checked:
    """Check a config against the models."""
    context = {"config": config, "lookup": lookup_in(config)}
    try:
        config_model().model_validate(config, context=context)
        return Checked([], True)
    except ValidationError as failure:
        errors = failure.errors(include_url=False)
        sentences = list(dict.fromkeys(_sentences(config, errors)))
        return Checked(sentences, all(error["type"] == "rules" for error in errors))


def _sentences(config: Block, errors: Sequence[ErrorDetails]) -> Iterator[str]:
    """Yield one sentence for each mistake, by place. A value that is of none of several kinds is one mistake."""
    at: dict[KeyPath, list[ErrorDetails]] = {}
    for error in errors:
        at.setdefault(_place(config, error), []).append(error)
    for place in sorted(at, key=lambda place: [str(key) for key in place]):
        where, alike = ".".join(map(str, place)) or "the top level", at[place]
        # If a key takes several kinds of values, the mistakes of the value as another kind are left out.
        below = any(other[: len(place)] == place and other != place for other in at)
        alike = [error for error in alike if not _other_kind(error)] or ([] if below else alike)
        if len(alike) > 1 and alike[0]["input"] is not None and len({id(error["input"]) for error in alike}) == 1:
            yield f"{where} is {alike[0]['input']!r}, {NONE_OF_THEM}"
        else:
            yield from (sentence for error in alike for sentence in _said(config, where, place, error))


def _said(config: Block, where: str, place: KeyPath, error: ErrorDetails) -> Iterator[str]:
    """Yield the sentences of an error of pydantic."""
    context = {key: _plain(bound) for key, bound in error.get("ctx", {}).items()}
    value, kind = error["input"], error["type"]
    parent = ".".join(map(str, place[:-1])) or "the top level"
    if "[key]" in error["loc"]:
        where = parent
    if kind == "rules":
        yield from (sentence.replace("{place}", where) for sentence in context["sentences"])
    elif kind == "reference":
        yield f"{where} {context['sentence']}"
    elif kind == "missing":
        yield f"{parent} lacks the key {place[-1]}{'' if place[:-1] else ON_TOP}"
    elif kind == "extra_forbidden":
        yield f"{parent} has no key {str(place[-1])!r}{_meant(config, place)}"
    elif value is None:
        yield f"{where} {NULL}"
    elif kind == "union_tag_invalid":
        yield from _chosen(config, where, place, value)
    elif kind == "string_pattern_mismatch" and "[key]" in error["loc"]:
        yield f"{where} has the name {value!r}; names are lower-case letters, digits and hyphens"
    elif kind == "float_type" and isinstance(value, str):
        yield f"{where} must be a number; YAML reads {value!r} as text, write it with a point, as 1.0e-4"
    elif kind == "literal_error":
        values = [str(option).strip("'") for option in context["expected"].replace(" or ", ", ").split(", ")]
        yield f"{where} is {value!r}; it must be one of {', '.join(values)}.{_close(value, values)}"
    else:
        said = PLAIN.get(kind)
        yield f"{where} {said.format(value=value, **context)}" if said else f"{where}: {error['msg']}"


def _other_kind(error: ErrorDetails) -> bool:
    is_block = isinstance(error["input"], list | Mapping)
    is_type = error["type"].endswith("_type") or (error["type"] == "literal_error" and is_block)
    return is_type and "[key]" not in error["loc"]


def _plain(bound: Any) -> Any:
    return int(bound) if isinstance(bound, float) and bound.is_integer() else bound


def _chosen(config: Block, where: str, place: KeyPath, value: Any) -> Iterator[str]:
    """Yield a sentence on a block that fits none of the possible models: its choosing key is missing or unknown."""
    if not isinstance(value, Mapping):
        yield f"{where} {PLAIN['model_type'].format(value=value)}"
        return
    part = type_at(config, place)
    key, cases = alternatives(part, value)
    if key not in value:
        yield f"{where} lacks the key {key}"
    elif needed := key_of_family(part, str(value[key])):
        yield f"{where} lacks the key {needed}"
    elif not isinstance(value[key], str) or value[key] not in cases:
        yield f"{where}.{key} is {value[key]!r}; it must be one of {', '.join(cases)}.{_close(value[key], [*cases])}"


def _close(value: Any, values: Sequence[str]) -> str:
    close = difflib.get_close_matches(str(value), values, n=1)
    return f" Did you mean {close[0]!r}?" if close else ""


def _meant(config: Block, place: KeyPath) -> str:
    """Return a hint on an unknown key: other kinds of blocks that have this key, and similar keys of the block."""
    block: Any = config
    for key in place[:-1]:
        block = block[key]
    outer, own = type_at(config, place[:-1]), type_at(config, place[:-1]).of(block)
    keys = sorted(_keys(own.model)) if own.model else []
    _, cases = alternatives(outer, block)
    able = sorted(name for name, model in cases.items() if str(place[-1]) in _keys(model))
    others = f", which {' and '.join(able)} can have" if able else ""
    meant = hint(str(place[-1]), keys, "known keys:")
    if len(place) == 1 or place[0] in EVALUATED:
        meant = known_metric(str(place[-1])) or meant
    if place[0] == "evaluations" and len(place) == 3 and _is_of_corpora(config, str(place[-1])):
        meant = f"it is a key of a corpus; {meant}"
    elif place[0] in EVALUATED and block[place[-1]] is True and meant not in KNOWN.values():
        meant = f"{COMMANDS}; {meant}"
    return f"{others}; {meant}"


def _is_of_corpora(config: Block, key: str) -> bool:
    """Return whether a corpus of any reader can have a key."""
    _, readers = alternatives(type_at(config, ("corpora", "any")), {})
    return any(key in _keys(model) for model in readers.values())


def _keys(model: Any) -> list[str]:
    return list(getattr(model, "model_fields", {}))


def _place(config: Block, error: ErrorDetails) -> KeyPath:
    """Return the place of an error in the config, without the models, types and [key] that pydantic adds."""
    found: list[int | str] = []
    value: Any = config
    for number, key in enumerate(error["loc"], 1):
        if _has(value, key):
            value = value[key]
            found.append(key)
        elif number == len(error["loc"]) and error["type"] == "missing":
            found.append(key)
    return tuple(found)


def _has(value: Any, key: Any) -> bool:
    if isinstance(value, Mapping):
        return key in value
    return isinstance(value, list) and isinstance(key, int) and key < len(value)
