"""Preferences of a served model between the captions of every two captioners, each pair in both orders."""

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from captionlab.comparisons.images import Described
from captionlab.comparisons.prompts import SCHEMA, Prompt, Verdict, read_verdict
from captionlab.comparisons.schemas import OWN_FIRST, OWN_SECOND, TIE
from captionlab.config.comparisons import Comparison
from captionlab.served.client import Client
from captionlab.served.json_answers import Asked, ask_for_json
from captionlab.served.requests import Message, Picture

logger = logging.getLogger(__name__)


def ask_preferences(
    comparison: Comparison, client: Client, prompt: Prompt, images: Sequence[Described]
) -> list[dict[str, Any]]:
    """Return what a model prefers, for each image, every two captioners and both orders, as rows of PREFERENCES.

    Identical captions are a tie without a request. An answer of another form is asked for once more. Raises
    captionlab.served.client.ServerError.
    """
    pairs = [pair for image in images for pair in _pairs(image)]
    asked = [pair for pair in pairs if not pair.is_identical]
    # Captioners with the same caption of an image share a request.
    questions = {pair.question: pair for pair in asked}
    chats = [Asked([_message(comparison, prompt, pair)], SCHEMA) for pair in questions.values()]
    parameters = {"temperature": 0.0, "max_tokens": comparison.max_tokens}
    answers = ask_for_json(client, chats, parameters, comparison.structured)
    verdicts = dict(zip(questions, map(read_verdict, answers), strict=True))
    rows = [
        {
            **pair.key,
            "asked": not pair.is_identical,
            **verdicts.get(pair.question, Verdict(TIE, None))._asdict(),
        }
        for pair in pairs
    ]
    logger.info("%d of %d pairs have identical captions, a tie without a request", len(pairs) - len(asked), len(pairs))
    return rows


@dataclass(frozen=True)
class _Pair:
    """Two captions of an image, in the order that the model reads them."""

    image: Described
    captioner: str
    against: str
    order: str

    @property
    def key(self) -> dict[str, str]:
        """Return the columns that identify a row of PREFERENCES."""
        place = {"corpus": self.image.corpus, "image_id": self.image.image_id}
        return {**place, "captioner": self.captioner, "against": self.against, "order": self.order}

    @property
    def texts(self) -> tuple[str, str]:
        """Return the first and the second caption."""
        own, other = self.image.captions[self.captioner], self.image.captions[self.against]
        return (own, other) if self.order == OWN_FIRST else (other, own)

    @property
    def question(self) -> tuple[str, ...]:
        """Return what a request depends on."""
        return (self.image.corpus, self.image.image_id, *self.texts)

    @property
    def is_identical(self) -> bool:
        """Return whether both captions are the same text."""
        return self.texts[0] == self.texts[1]


def _pairs(image: Described) -> Iterator[_Pair]:
    """Yield every two captioners of an image in both orders."""
    for captioner, against in combinations(image.captions, 2):
        for order in (OWN_FIRST, OWN_SECOND):
            yield _Pair(image, captioner, against, order)


def _message(comparison: Comparison, prompt: Prompt, pair: _Pair) -> Message:
    """Return the message that asks for a verdict on two captions."""
    image = pair.image
    shown = [Picture(image.image, comparison.image_size)] if image.image is not None else []
    return "user", [*shown, prompt.text(*pair.texts, image.references)]
