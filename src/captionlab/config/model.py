"""The base of all models of the config, and the types that their fields share."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationInfo, model_validator
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

Block = dict[str, Any]


class Model(BaseModel):
    """A block of the config. Unknown keys are refused, numbers must be finite, and no value is converted."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False, defer_build=True)

    def mistakes(self, config: Mapping[str, Any]) -> Iterator[str]:
        """Yield a sentence for each rule between keys that the block breaks; {place} stands for the block.

        `config` is the whole config as it was written. It may have mistakes of any kind.
        """
        yield from ()

    @model_validator(mode="after")
    def _check(self, info: ValidationInfo) -> Self:
        sentences = [
            *self._nulls(),
            *self._indivisible(),
            *self.mistakes(info.context["config"] if info.context else {}),
        ]
        if sentences:
            raise PydanticCustomError("rules", "{sentences}", {"sentences": sentences})
        return self

    def _nulls(self) -> Iterator[str]:
        """Yield a sentence for each key that is null where null is no value."""
        for key in sorted(self.model_fields_set):
            marks = type(self).model_fields[key].metadata
            if getattr(self, key) is None and not any(isinstance(mark, NullMark) for mark in marks):
                yield (
                    f"{{place}}.{key} has no value, and no --configfile before it has one to take away; write one or "
                    "drop the key"
                )

    def _indivisible(self) -> Iterator[str]:
        """Yield a sentence for each number that does not divide the number that it must divide."""
        for key, described in type(self).model_fields.items():
            for whole in (mark.key for mark in described.metadata if isinstance(mark, Divides)):
                number, total = getattr(self, key), getattr(self, whole)
                if number is not None and total is not None and total % number:
                    fitting = next(n for n in range(min(number, total), 0, -1) if total % n == 0)
                    wrong = f"{{place}}.{key} is {number}, which does not divide {whole}, {total}"
                    yield f"{wrong}; write {fitting}, or another {whole}"


@dataclass(frozen=True)
class Divides:
    """Marks a number that must divide the number under another key of the same block."""

    key: str


@dataclass(frozen=True)
class NullMark:
    """Marks a key that takes null as a value. Other keys refuse null and must be left out instead."""


@dataclass(frozen=True)
class AbsentMark:
    """Marks a key whose default is not filled in, because null and a missing key have different meanings."""


@dataclass(frozen=True)
class IdleMark:
    """Marks a key that no result depends on, such as the address of a server. Another value runs nothing again."""


@dataclass(frozen=True)
class FileMark:
    """Marks a path of a file or folder, which a relative path reaches from `data`."""


@dataclass(frozen=True)
class SeedMark:
    """Marks a seed whose default is the seed of the config."""


@dataclass(frozen=True)
class Unique:
    """Marks a list in which nothing is there twice."""

    def __get_pydantic_core_schema__(self, source: Any, handler: Callable[[Any], CoreSchema]) -> CoreSchema:
        return core_schema.no_info_after_validator_function(self._check, handler(source))

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: Callable[[Any], Block]) -> Block:
        return {**handler(schema), "uniqueItems": True}

    @staticmethod
    def _check(items: list[Any]) -> list[Any]:
        if any(item in items[:index] for index, item in enumerate(items)):
            raise PydanticCustomError("unique", "something is there twice")
        return items


@dataclass(frozen=True)
class Ref:
    """Marks a string as the name of a block in a section of the config, which is looked up when the string is checked.

    The name must be there, and the block must do: `accepts` and `refuses` are keys with the values that it must or must
    not have (None: the key is absent), `has` and `lacks` are keys that it must or must not have, and `able` is a
    capability of the family of an encoder. `reason` is the error message otherwise. With `trainings`, the name of a
    block with `seeds` stands for all of its trainings.
    """

    section: str
    trainings: bool = False
    able: str = ""
    accepts: Mapping[str, Iterable[Any]] = field(default_factory=dict, hash=False)
    refuses: Mapping[str, Iterable[Any]] = field(default_factory=dict, hash=False)
    has: str = ""
    lacks: str = ""
    reason: str = ""

    def __get_pydantic_core_schema__(self, source: Any, handler: Callable[[Any], CoreSchema]) -> CoreSchema:
        return core_schema.with_info_after_validator_function(self._check, handler(source))

    def _check(self, name: str, info: ValidationInfo) -> str:
        if info.context is not None and (sentence := info.context["lookup"](self, name)):
            raise PydanticCustomError("reference", "{sentence}", {"sentence": sentence})
        return name


Name = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9-]*$")]
FilePath = Annotated[str, StringConstraints(min_length=1), FileMark()]
Text = Annotated[str, StringConstraints(min_length=1)]
Nullable = NullMark()
Idle = IdleMark()
Absent = AbsentMark()
# The whole numbers that generators of random numbers take, in 64 bits.
Seed = Annotated[int, Field(ge=0, le=2**63 - 1)]
OwnSeed = Annotated[Seed | None, SeedMark()]
Share = Annotated[float, Field(ge=0, le=1)]
Portion = Annotated[float, Field(gt=0, le=1)]  # a share above 0
Dropout = Annotated[float, Field(ge=0, lt=1)]
