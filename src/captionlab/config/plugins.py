"""Blocks of plug-ins: a key of the block says which model it must fit."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, Union

from pydantic import (
    Discriminator,
    GetCoreSchemaHandler,
    Tag,
    TypeAdapter,
    ValidationInfo,
    ValidatorFunctionWrapHandler,
)
from pydantic_core import CoreSchema, core_schema

from captionlab import plugins


@dataclass(frozen=True)
class Cases:
    """Marks a block that must fit one of several models: `chosen` names the model of a block, by the value of `key`.

    A model that was not there when this module was imported, such as one of a plug-in that a config names, counts too.
    pydantic puts the names of other models between angle brackets into the places of its errors.
    """

    models: Callable[[], Mapping[str, Any]]
    chosen: Callable[[Any], str]
    key: str = ""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        first = self.models()
        tagged = [Annotated[model, Tag(f"<{name}>")] for name, model in first.items()]
        # `|` cannot join a list whose length is not known here.
        whole = Union[tuple(tagged)] if len(tagged) > 1 else tagged[0]  # noqa: UP007
        inner = handler.generate_schema(Annotated[whole, Discriminator(self._tag)])

        def validated(block: Any, check: ValidatorFunctionWrapHandler, info: ValidationInfo) -> Any:
            name = self.chosen(block)
            if name in first or (model := self.models().get(name)) is None:
                return check(block)
            return _adapter(model).validate_python(block, context=info.context)

        return core_schema.with_info_wrap_validator_function(validated, inner)

    def _tag(self, block: Any) -> str:
        return f"<{self.chosen(block)}>"


@cache
def _adapter(model: Any) -> TypeAdapter[Any]:
    return TypeAdapter(model)


def cases_by(key: str, models: Callable[[], Mapping[str, Any]]) -> Cases:
    """Mark a block whose model is named by the value of a key."""

    def chosen(block: Any) -> str:
        value = block.get(key) if isinstance(block, Mapping) else getattr(block, key, None)
        return str(value)

    return Cases(models, chosen, key)


def plugin_models(package: str, model: str = "Config") -> dict[str, Any]:
    """Return the model of this name of each plug-in of a package that has one, by the name of the plug-in.

    Raises PluginError for a plug-in without FACTS.
    """
    found = {name: getattr(plugins.config_module(package, name), model, None) for name in plugins.facts(package)}
    return {name: one for name, one in found.items() if one is not None}


def PluginUnion(package: str, key: str) -> Cases:
    """Mark a block of a plug-in of a package, whose name stands under a key."""
    return cases_by(key, lambda: plugin_models(package))
