"""Addresses of the captions behind a number, in the results browser; its page (resources/browser) reads them."""

import os
from urllib.parse import urlencode

from captionlab import paths

# From a page in the folder of all tables.
PAGE = os.path.relpath(paths.browser("index.html"), paths.TABLES)


def captions_link(
    corpus: str,
    captioner: str,
    evaluation: str,
    metric: str,
    by: str | None = None,
    among: str | None = None,
    against: str | None = None,
) -> str:
    """Where captions of a captioner are shown by a metric, perhaps `by` somebody and `among` candidates.

    With `against` they stand beside another's, by the difference of the two.
    """
    state = {"corpus": corpus, "evaluation": evaluation, "a": captioner, "b": against}
    state |= {"measure": metric, "by": by, "among": among, "order": against and "difference"}
    return f"{PAGE}#{urlencode({name: value for name, value in state.items() if value})}"
