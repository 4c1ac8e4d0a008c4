"""The Java that captionlab finds as the literal command `java`, which pycocoevalcap runs."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from captionlab.evaluation.java import find_java
from captionlab.jobs.programs import DEFINED


@contextmanager
def java_on_path() -> Iterator[None]:
    """Put it at the front of PATH, with the variables of every Java program here."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", str(find_java().parent), prepend=os.pathsep)
        for name, value in DEFINED.items():
            patch.setenv(name, value)
        yield
