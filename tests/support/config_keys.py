"""The keys that the models of a config have, and the keys that a config uses."""

import inspect
from collections.abc import Iterator, Mapping
from typing import Any, get_args

from captionlab.config.model import Block, Model
from captionlab.config.plugins import Cases
from captionlab.config.walking import ValueType, root

# The model that declares the key, with its name, as `training.Optimizer.lr`; and the meaning of the key, since plug-ins
# have keys of the same name with other meanings.
Key = tuple[str, str]


def declared_keys() -> set[Key]:
    """Return all keys that a config may have."""
    return {key for model in declared_models() for key in _keys(model, model.model_fields)}


def used_keys(config: Block) -> set[Key]:
    """Return the keys that a config gives a value."""
    return {key for model, block in used_models(root(), config) for key in _keys(model, block)}


def declared_models() -> set[type[Model]]:
    """Return the models of all blocks that a config may have."""
    found: set[type[Model]] = set()
    _collect(root(), found)
    return found


def used_models(part: ValueType, value: Any) -> Iterator[tuple[type[Model], Block]]:
    """Yield each block in a value that fits a part, with its model."""
    part = part.of(value)
    if isinstance(value, list):
        for index, item in enumerate(value):
            yield from used_models(part.under(index), item)
    elif isinstance(value, Mapping):
        if part.model is not None:
            yield part.model, dict(value)
        for key, item in value.items():
            yield from used_models(part.under(key), item)


def _collect(part: ValueType, found: set[type[Model]]) -> None:
    cases = [model for mark in part.marks if isinstance(mark, Cases) for model in mark.models().values()]
    if part.model is None or cases:
        for inner in cases or get_args(part.type):
            _collect(part.inside(inner), found)
    elif part.model not in found:
        found.add(part.model)
        for key in part.model.model_fields:
            _collect(part.under(key), found)


def _keys(model: type[Model], keys: Mapping[str, Any]) -> Iterator[Key]:
    """Yield keys that a model has; what names a model, as `family`, has no description and is none of them."""
    for key in keys:
        description = model.model_fields[key].description if key in model.model_fields else None
        if description is not None:
            owner = next(base for base in model.__mro__ if key in inspect.get_annotations(base))
            yield f"{_place(owner)}.{key}", description


def _place(model: type) -> str:
    """Return the name of a model, which the plug-ins of a package share; each paper has its own."""
    package = model.__module__.removeprefix("captionlab.").removeprefix("config.").removesuffix(".config")
    is_plugin = model.__module__.endswith(".config") and not package.startswith("papers.")
    return f"{package.rpartition('.')[0] if is_plugin else package}.{model.__name__}"
