"""Addresses in the results browser of the captions behind a number. The page in resources/browser reads them."""

import os
from collections.abc import Mapping
from urllib.parse import urlencode

from captionlab.storage import paths

# Path from a page in the folder of all tables.
PAGE = os.path.relpath(paths.browser("index.html"), paths.TABLES)


def captions_link(
    corpus: str,
    captioner: str,
    evaluation: str,
    metric: str,
    retriever: str | None = None,
    candidates: str | None = None,
    against: str | None = None,
    seeds: int = 1,
    filters: Mapping[str, str] = {},
) -> str:
    """Return the address of the page with a captioner's captions, which explains a value of a metric above them.

    `retriever` is the retriever or scorer of the metric. With `against`, the captions of another captioner stand beside
    them, and the number is the difference between the two. With `seeds`, the number is the mean over so many trainings.
    Captions are sorted by the metric, or by the measure of single captions behind it. `filters` are filters of the page
    by their names in its address, such as `scene`.
    """
    state = {"corpus": corpus, "evaluation": evaluation, "a": captioner, "b": against}
    state |= {"metric": metric, "retriever": retriever, "candidates": candidates}
    state |= {"order": against and "difference", "seeds": str(seeds) if seeds > 1 else None, **filters}
    return f"{PAGE}#{urlencode({name: value for name, value in state.items() if value})}"


def printed_link(link: str, number: str) -> str:
    """Return an address of captions with a number and its interval as a table prints them, for the page to show."""
    return f"{link}&{urlencode({'printed': number})}"
