"""Parameters of a job as text for readers."""

from collections.abc import Iterator, Mapping
from typing import Any


def flat_parameters(params: Mapping[str, Any]) -> dict[str, str]:
    """Return the parameters of a job as text, with nested names joined by dots, without code and provenance footers."""
    given = {name: value for name, value in params.items() if name not in ("code", "provenance")}
    return dict(_flat(given))


def _flat(values: Mapping[str, Any], start: str = "") -> Iterator[tuple[str, str]]:
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{start}{name}.")
        else:
            yield f"{start}{name}", str(value)
