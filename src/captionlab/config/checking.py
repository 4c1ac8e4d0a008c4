"""A config as it was written, held against the models: one sentence for each mistake."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from captionlab.config.model import Block, Model
from captionlab.config.names import lookup_in
from captionlab.config.settings import config_model

# What is said of a value by the kind of pydantic's error; {value} is the value, others are of the error's context.
PLAIN = {
    "string_type": "is {value!r}; it must be text",
    "int_type": "is {value!r}; it must be a whole number",
    "int_from_float": "is {value!r}; it must be a whole number",
    "bool_type": "is {value!r}; it must be true or false",
    "list_type": "is {value!r}; it must be a list",
    "dict_type": "is {value!r}; it must be a mapping",
    "model_type": "is {value!r}; it must be a mapping",
    "model_attributes_type": "is {value!r}; it must be a mapping",
    "finite_number": "is {value!r}; it must be a finite number",
    "greater_than": "is {value}; it must be above {gt}",
    "greater_than_equal": "is {value}; it must be at least {ge}",
    "less_than": "is {value}; it must be below {lt}",
    "less_than_equal": "is {value}; it must be at most {le}",
    "string_too_short": "is empty",
    "string_pattern_mismatch": "is {value!r}; it must match {pattern}",
    "unique": "is {value}; something in it is there twice",
}
Place = tuple[int | str, ...]


class Checked(NamedTuple):
    """What is wrong with a config, and the config as a model if nothing is."""

    sentences: list[str]
    config: Model | None


def check(config: Block) -> Checked:
    """Hold a config against the models."""
    try:
        context = {"config": config, "lookup": lookup_in(config)}
        return Checked([], config_model().model_validate(config, context=context))
    except ValidationError as error:
        return Checked(list(dict.fromkeys(_sentences(config, error.errors(include_url=False)))), None)


def _sentences(config: Block, errors: Sequence[ErrorDetails]) -> Iterator[str]:
    """Yield one sentence for each mistake; what is wrong with each kind of a value of several kinds is one mistake."""
    several: dict[Place, list[ErrorDetails]] = {}
    for error in errors:
        several.setdefault(_place(config, error), []).append(error)
    for place in sorted(several, key=lambda place: [str(key) for key in place]):
        where, alike = ".".join(map(str, place)) or "the top level", several[place]
        if len(kinds := [error for error in alike if _is_kind(error)]) > 1 and kinds == alike:
            yield f"{where} is {alike[0]['input']!r}, which is none of the values that may stand there (config/README.md)"
            continue
        for error in alike:
            yield from _said(where, place, error)


def _said(where: str, place: Place, error: ErrorDetails) -> Iterator[str]:
    context, value, kind = error.get("ctx", {}), error["input"], error["type"]
    parent = ".".join(map(str, place[:-1])) or "the top level"
    if kind == "rules":
        yield from (sentence.replace("{place}", where) for sentence in context["sentences"])
    elif kind == "reference":
        yield f"{where} {context['sentence']}"
    elif value is None and kind != "missing":
        yield f"{where} has no value, and no --configfile before it has one to take away; write one or drop the key"
    elif kind == "missing":
        yield f"{parent} lacks the key {place[-1]}"
    elif kind == "extra_forbidden":
        yield f"{parent} has no key {str(place[-1])!r}{_others(place, error)}; {_meant(place, error)}"
    elif kind == "float_type" and isinstance(value, str):
        yield f"{where} must be a number; YAML reads {value!r} as text, write it with a point, as 1.0e-4"
    elif kind == "literal_error":
        yield f"{where} is {value!r}; it must be one of {_options(context['expected'], value)}"
    elif kind == "union_tag_invalid":
        pass
    elif kind in ("too_short", "too_long"):
        most = "at most" if kind == "too_long" else "at least"
        yield f"{where} is {value}; it must have {most} {context.get('min_length', context.get('max_length'))} of them"
    else:
        said = PLAIN.get(kind)
        yield f"{where} {said.format(value=value, **context)}" if said else f"{where}: {error['msg']}"


def _place(config: Block, error: ErrorDetails) -> Place:
    """Return the place of an error in the config, without the names of models that pydantic has in it."""
    found: list[int | str] = []
    value: Any = config
    for key in error["loc"]:
        if isinstance(key, str) and key.startswith("<"):
            continue
        if isinstance(value, Mapping | list) and _has(value, key):
            value = value[key]
        elif error["type"] != "missing" or key != error["loc"][-1]:
            continue  # a kind of a value of several kinds, or [key] of a mapping
        found.append(key)
    if error["type"] == "union_tag_invalid":
        found.append(_discriminator(config, tuple(found)))
    return tuple(found)


def _has(value: Any, key: Any) -> bool:
    return key in value if isinstance(value, Mapping) else isinstance(key, int) and key < len(value)
