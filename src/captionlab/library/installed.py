"""Packages of the extra `workflow`, which calls that run models need."""

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def models_needed(call: str) -> Iterator[None]:
    """Say in the block that a call needs the extra `workflow`, if a package is not installed."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            f"{call} needs {error.name}, which is not installed; pip install 'captionlab[workflow]'", name=error.name
        ) from error
