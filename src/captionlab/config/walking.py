"""Walks through a config along its models: defaults, names, paths and null."""

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import NoneType, UnionType
from typing import Annotated, Any, NamedTuple, Union, get_args, get_origin

from pydantic.fields import FieldInfo

from captionlab.config.model import AbsentMark, Block, FileMark, IdleMark, Model, NullMark, Ref, SeedMark
from captionlab.config.plugins import Cases
from captionlab.config.sections import config_model


class ValueType(NamedTuple):
    """The type of a value of a config, and the marks of the type."""

    type: Any
    marks: tuple[Any, ...] = ()

    def has(self, mark: type) -> bool:
        """Return whether a mark of this kind is there."""
        return any(isinstance(one, mark) for one in self.marks)

    @property
    def ref(self) -> Ref | None:
        """Return the reference that a string is, if it is one."""
        return next((mark for mark in self.marks if isinstance(mark, Ref)), None)

    @property
    def model(self) -> type[Model] | None:
        """Return the model that a block must fit, if the value is a block."""
        return self.type if isinstance(self.type, type) and issubclass(self.type, Model) else None

    def of(self, value: Any) -> "ValueType":
        """Return the type that fits a value if several are allowed: a member of a union, or the model of a case."""
        marks = self.marks
        if cases := next((mark for mark in marks if isinstance(mark, Cases)), None):
            chosen = cases.models().get(cases.chosen(value))
            return ValueType(NoneType) if chosen is None else ValueType(chosen).of(value)
        if get_origin(self.type) is Annotated:
            inner, *more = get_args(self.type)
            return ValueType(inner, (*marks, *more)).of(value)
        if get_origin(self.type) in (Union, UnionType):
            members = [ValueType(one).of(value) for one in get_args(self.type)]
            fitting = next((one for one in members if one.holds(value)), ValueType(NoneType))
            return ValueType(fitting.type, (*marks, *fitting.marks))
        return self

    def inside(self, annotation: Any) -> "ValueType":
        """Return a type that is written inside the type, with its own marks."""
        inner, marks = _split(annotation)
        return ValueType(inner, marks)

    def holds(self, value: Any) -> bool:
        """Return whether a value is of the kind of the type; the content of blocks and lists is not checked."""
        if value is None:
            return self.type is NoneType
        if isinstance(value, Mapping):
            return self.model is not None or get_origin(self.type) is dict
        if isinstance(value, list):
            return get_origin(self.type) is list
        return self.model is None and get_origin(self.type) not in (dict, list) and self.type is not NoneType

    def under(self, key: Any) -> "ValueType":
        """Return the type under a key of a block or mapping, or in a list; NoneType if a block has no such key."""
        if self.model is not None:
            field = self.model.model_fields.get(key)
            return ValueType(NoneType) if field is None else type_of(field)
        arguments = get_args(self.type)
        return self.inside(arguments[-1]) if arguments else ValueType(Any)


def type_of(field: FieldInfo) -> ValueType:
    """Return the type of the value of a key."""
    return ValueType(field.annotation, tuple(field.metadata))


def root() -> ValueType:
    """Return the type of a config."""
    return ValueType(config_model())


def section(name: str) -> ValueType:
    """Return the type of a section of a config."""
    return root().under(name)


def filled(config: Block) -> Block:
    """Return a config with the default of each key that is missing. The config must fit the models."""
    return dict(_filled(root(), config, config))


def _filled(part: ValueType, value: Any, config: Block) -> Any:
    part = part.of(value)
    if isinstance(value, list):
        return [_filled(part.under(index), item, config) for index, item in enumerate(value)]
    if not isinstance(value, Mapping):
        return value
    if part.model is None:
        return {key: _filled(part.under(key), item, config) for key, item in value.items()}
    whole = {**value, **{key: one for key, one in _defaults(part.model, config).items() if key not in value}}
    return {key: _filled(part.under(key), item, config) for key, item in whole.items()}


def _defaults(model: type[Model], config: Block) -> Block:
    """Return the defaults of a model by key. A default block is empty; its own defaults are added later."""
    found = {}
    for key, field in model.model_fields.items():
        part = type_of(field)
        if field.is_required() or part.has(AbsentMark):
            continue
        if part.has(SeedMark):
            found[key] = config["seed"]
        elif isinstance(field.default, Model):
            found[key] = {}
        elif field.default is not None or part.has(NullMark):
            found[key] = copy.deepcopy(field.default)
    return found


# A function of a section, a name or names, and whether a name stands for all trainings. It returns the new names.
Rename = Callable[[str, Any, bool], Any]


def renamed(part: ValueType, value: Any, rename: Rename) -> Any:
    """Return a value of a config in which `rename` has replaced every name. `part` is the type of the value."""
    part = part.of(value)
    if isinstance(value, list):
        item = part.under(0).of(value[0]) if value else ValueType(Any)
        if item.ref:
            return rename(item.ref.section, value, item.ref.trainings)
        return [renamed(part.under(index), one, rename) for index, one in enumerate(value)]
    if isinstance(value, Mapping):
        return {key: renamed(part.under(key), one, rename) for key, one in value.items()}
    return rename(part.ref.section, value, part.ref.trainings) if part.ref else value


def without_idle(part: ValueType, value: Any) -> Any:
    """Return a value of a config without the keys that no result depends on. `part` is the type of the value."""
    part = part.of(value)
    if isinstance(value, list):
        return [without_idle(part.under(index), item) for index, item in enumerate(value)]
    if not isinstance(value, Mapping):
        return value
    kept = {key: part.under(key) for key in value if not part.under(key).has(IdleMark)}
    return {key: without_idle(inner, value[key]) for key, inner in kept.items()}


def named_paths(part: ValueType, value: Any) -> Iterator[str]:
    """Yield the files and folders that a value of a config names. `part` is the type of the value."""
    part = part.of(value)
    if isinstance(value, list):
        for index, item in enumerate(value):
            yield from named_paths(part.under(index), item)
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from named_paths(part.under(key), item)
    elif part.has(FileMark):
        yield value


def file_keys(part: ValueType, block: Block) -> list[str]:
    """Return the keys of a block under which a file or folder stands, sorted. `part` is the type of the block."""
    model = part.of(block)
    return sorted(key for key, value in block.items() if model.under(key).of(value).has(FileMark))


def takes_null(config: Block, place: Sequence[Any]) -> bool:
    """Return whether null is a value of the key at a place of a config."""
    return type_at(config, place).has(NullMark)


def type_at(config: Any, place: Sequence[Any]) -> ValueType:
    """Return the type of the value at a place of a config; NoneType if there is no such place."""
    part, value = root(), config
    for key in place:
        part = part.of(value).under(key)
        value = value[key] if isinstance(value, Mapping | list) and _has(value, key) else None
    return part


def _has(value: Any, key: Any) -> bool:
    return key in value if isinstance(value, Mapping) else isinstance(key, int) and key < len(value)


def alternatives(part: ValueType, block: Any) -> tuple[str, Mapping[str, Any]]:
    """Return the key of a block that chooses among several models, such as `family`, and the models by its values.

    If the keys of a block choose a group of models first, the key that chooses within this group is returned. If there
    is one model only, the key is empty and there are no models.
    """
    marks = [mark for mark in part.marks if isinstance(mark, Cases)]
    if not marks:
        return "", {}
    chosen = marks[0].models().get(marks[0].chosen(block))
    inner = ValueType(*_split(chosen)) if chosen is not None else ValueType(NoneType)
    if any(isinstance(mark, Cases) for mark in inner.marks):
        return alternatives(inner, block)
    return marks[0].key, marks[0].models()


def key_of_family(part: ValueType, family: str) -> str:
    """Return the key that a block lacks to be of a family, or an empty string if no key would make it so."""
    for mark in part.marks:
        for key, annotation in mark.models().items() if isinstance(mark, Cases) else ():
            _, inner = _split(annotation)
            model = next((cases.models().get(family) for cases in inner if isinstance(cases, Cases)), None)
            if model is not None and key in model.model_fields:
                return key
    return ""


def _split(annotation: Any) -> tuple[Any, tuple[Any, ...]]:
    inner, *marks = get_args(annotation) if get_origin(annotation) is Annotated else (annotation,)
    return inner, tuple(marks)
