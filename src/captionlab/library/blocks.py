"""Blocks of a config that a program gives, such as a decoding."""

from collections.abc import Iterator
from contextlib import contextmanager

from pydantic import ValidationError


@contextmanager
def mistakes_named(block: str) -> Iterator[None]:
    """Turn a mistake in a block, found by its model in the `with` block, into a ValueError that names each key."""
    try:
        yield
    except ValidationError as failure:
        mistakes = [f"{'.'.join(map(str, error['loc'])) or block}: {error['msg']}" for error in failure.errors()]
        raise ValueError(f"{block} has mistakes: {'; '.join(mistakes)}") from failure
