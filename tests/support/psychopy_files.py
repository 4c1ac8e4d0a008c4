"""Files of answers as PsychoPy writes them (ExperimentHandler.saveAsWideText of versions 2022.2 and 2026.2)."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any


def wide_text(names: Sequence[str], entries: Iterable[Mapping[str, Any]], delimiter: str = ",") -> str:
    """Return the text of a file: quotes stand around cells with commas or line breaks, and nothing is escaped."""
    text = "".join(f"{name}{delimiter}" for name in names) + "\n"
    for entry in entries:
        for cell in (str(entry.get(name, "")) for name in names):
            text += (f'"{cell}"' if "," in cell or "\n" in cell else cell) + delimiter
        text += "\n"
    return text
