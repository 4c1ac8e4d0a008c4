"""Scores of judged captions by a language model that sees no image: how likely their words are."""

from collections.abc import Mapping, Sequence

import numpy as np

from captionlab.judgements.correlation import Row, Scores
from captionlab.judgements.pooling import pooled_image
from captionlab.texts.ngram import NgramModel, score

LOG_PROBABILITY = "log-probability"


def language_scores(model: NgramModel, tokens: Mapping[str, Sequence[Row]]) -> Scores:
    """Return the mean log-probability, in nats, of the tokens of each caption and its end, by a language model.

    A caption with the higher log-probability has the lower perplexity. `tokens` has rows of TOKENS by the name of a set
    of judgements. Words that the model does not know do not count, as in SRILM; a caption without a known token has no
    score.
    """
    rows = [(pooled_image(name, row["image_id"]), row) for name, of_set in tokens.items() for row in of_set]
    found = score(model, [row["tokens"].split() for _, row in rows])
    events = found.words + 1 - found.unknown - found.zero
    nats = np.divide(
        found.log_probs * np.log(10), events, out=np.full(len(rows), np.nan, dtype=np.float64), where=events > 0
    )
    keys = [(image, row["caption_index"]) for image, row in rows]
    return Scores(LOG_PROBABILITY, None, dict(zip(keys, nats.tolist(), strict=True)), "language")
