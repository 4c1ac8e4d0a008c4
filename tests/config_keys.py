"""The keys that the schema of a config declares, and the keys that a config uses."""

from collections.abc import Iterator
from typing import Any

from captionlab.workflow.schema import Schema

from captionlab.workflow.blocks import Block

# The part of the schema with the keys below it, as `captioner.optimizer.lr`; and the meaning of the key, since families
# have keys of the same name with other meanings.
Key = tuple[str, str]


def declared_keys(schema: Schema) -> set[Key]:
    """Return all keys that a config may have."""
    return set(_Walk(schema).declared(schema.root, "config"))


def used_keys(schema: Schema, config: Block) -> set[Key]:
    """Return the keys that a config gives a value."""
    return set(_Walk(schema).used(config, schema.root, "config"))


class _Walk:
    """A walk through the parts of a schema. A part that has a name is called by it, wherever it is referred to.

    `any_x` is called `x`: it is for a model of another run whose family is not known yet.
    """

    def __init__(self, schema: Schema):
        self.schema = schema
        self.seen = set[str]()

    def declared(self, part: Any, label: str) -> Iterator[Key]:
        if not isinstance(part, dict):
            return
        if "$ref" in part:
            name = part["$ref"].rpartition("/")[2]
            if name not in self.seen:
                self.seen.add(name)
                yield from self.declared(self.schema.definitions[name], name.removeprefix("any_"))
            return
        # A family that is not trained here has the keys of an imported one, which refuse it in a block without weights.
        cases = [case for case in part.get("cases", {}).values() if not case.get("untrained")]
        for case in [*cases, part.get("otherwise"), part.get("items"), *part.get("anyOf", [])]:
            yield from self.declared(case, label)
        yield from self.declared(part.get("additionalProperties"), label)
        for key, inner in part.get("properties", {}).items():
            if inner is not False and "const" not in inner:
                yield f"{label}.{key}", inner.get("description", "")
                yield from self.declared(inner, f"{label}.{key}")

    def used(self, value: Any, part: Any, label: str) -> Iterator[Key]:
        if not isinstance(part, dict):
            return
        if "$ref" in part:
            name = part["$ref"].rpartition("/")[2]
            yield from self.used(value, self.schema.definitions[name], name.removeprefix("any_"))
            return
        if "union" in part:
            yield from self.used(value, _case(value, part), label)
            return
        for case in part.get("anyOf", []):
            yield from self.used(value, case, label)
        if isinstance(value, list):
            for item in value:
                yield from self.used(item, part.get("items"), label)
        elif isinstance(value, dict):
            for key, item in value.items():
                if key in (keys := part.get("properties", {})):
                    yield f"{label}.{key}", keys[key].get("description", "")
                    yield from self.used(item, keys[key], f"{label}.{key}")
                else:
                    yield from self.used(item, part.get("additionalProperties"), label)


def _case(block: Any, part: Block) -> Any:
    """Return the case of a union that a block is of; None if it is of none."""
    if not isinstance(block, dict):
        return None
    union = part["union"]
    if isinstance(union, list):
        return part["cases"].get(next((key for key in union if key in block), None), part["otherwise"])
    return part["cases"].get(block[union]) if union in block else part.get("otherwise")
