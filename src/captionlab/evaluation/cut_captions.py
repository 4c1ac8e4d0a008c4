"""A warning about captions that are longer than a model reads."""

import logging
from collections.abc import Sequence

logger = logging.getLogger(__name__)


def log_cut(left_out: Sequence[int], corpus: str, model: str) -> None:
    """Warn how many captions of a corpus a model cuts, if any. `left_out` has the ignored tokens of each caption."""
    if cut := sum(map(bool, left_out)):
        logger.warning(
            "%s: %d of %d captions are too long for %s and are cut, by up to %d tokens",
            *(corpus, cut, len(left_out), model, max(left_out)),
        )
