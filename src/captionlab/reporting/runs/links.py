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
    by: str | None = None,
    among: str | None = None,
    against: str | None = None,
    filters: Mapping[str, str] = {},
) -> str:
    """Return the address of the page with a captioner's captions, sorted by a metric.

    `by` is the retriever or scorer of the metric, `among` the candidates. With `against`, the captions of another
    captioner stand beside them, and the order is by the difference between the two. `filters` are filters of the page
    by their names in its address, such as `scene`.
    """
    state = {"corpus": corpus, "evaluation": evaluation, "a": captioner, "b": against}
    state |= {"measure": metric, "by": by, "among": among, "order": against and "difference"}
    state |= filters
    return f"{PAGE}#{urlencode({name: value for name, value in state.items() if value})}"
