"""Long texts in what is printed on pages: figures and LaTeX tables. CSV, Markdown and HTML have texts as a whole."""

from collections.abc import Sequence

# The most words of a text that are printed.
MOST = 100


def shortened(words: Sequence[str]) -> list[str]:
    """Return the first MOST words of a text; if there are more, an ellipsis and the number of words come after them."""
    if len(words) <= MOST:
        return list(words)
    return [*words[:MOST], "…", f"({len(words):,}", "words)"]
