"""Examples of a training as a table of text."""

import re
from collections.abc import Sequence

from captionlab.tracking.updates import Example

COLUMNS = ("image", "caption", "reward", "references")


def table(examples: Sequence[Example]) -> str:
    """Return examples as a Markdown table with all texts escaped."""
    rows = [
        (
            escaped(example.image_id),
            escaped(example.caption),
            "" if example.reward is None else f"{example.reward:.4g}",
            "<br>".join(map(escaped, example.references)),
        )
        for example in examples
    ]
    lines = [COLUMNS, ("---",) * len(COLUMNS), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def escaped(text: str) -> str:
    """Return a text in one line, with each mark as a character reference, so that Markdown and HTML see no mark."""
    return re.sub(r"[^\w\s]|_", lambda mark: f"&#{ord(mark[0])};", " ".join(text.split()))
