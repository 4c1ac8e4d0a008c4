"""Preferences of a served model between the captions of every two captioners, each pair in both orders."""

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from captionlab.comparisons.images import Described
from captionlab.comparisons.prompts import AGAIN, RESPONSE_FORMAT, Prompt, Verdict, read_verdict
from captionlab.comparisons.schemas import OWN_FIRST, OWN_SECOND, TIE
from captionlab.config.comparisons import Comparison
from captionlab.served.client import Answer, ServerError, ask
from captionlab.served.requests import Message, Picture, Request
from captionlab.served.responses import Failure, Response

logger = logging.getLogger(__name__)
# Characters of an answer of another form that are kept as the reason why there is no answer.
_KEPT = 200


@dataclass(frozen=True)
class Preferences:
    """Preferences of a model."""

    rows: list[dict[str, Any]]
    """rows of PREFERENCES"""
    models: list[str]
    """models that answered, as the server names them, with their system fingerprints"""


def ask_preferences(comparison: Comparison, name: str, prompt: Prompt, images: Sequence[Described]) -> Preferences:
    """Ask a model which of the captions of every two captioners is better, for each image and in both orders.

    Identical captions are a tie without a request. An answer that is not the JSON object of
    `captionlab.comparisons.prompts` is asked for again once. `name` is the name of the comparison, for messages. Raises
    captionlab.served.client.ServerError.
    """
    pairs = [pair for image in images for pair in _pairs(image)]
    asked = [pair for pair in pairs if not pair.is_identical]
    # Captioners with the same caption of an image share a request.
    questions = {pair.question: pair for pair in asked}
    requests = [_request(comparison, prompt, pair) for pair in questions.values()]
    answers = _asked_again(comparison, name, requests, _answers(comparison, name, requests))
    verdicts = dict(zip(questions, map(_verdict, answers), strict=True))
    rows = [
        {
            **pair.key,
            "asked": not pair.is_identical,
            **verdicts.get(pair.question, Verdict(TIE, None))._asdict(),
        }
        for pair in pairs
    ]
    logger.info("%d of %d pairs have identical captions, a tie without a request", len(pairs) - len(asked), len(pairs))
    logger.info("%d of %d pairs have no answer", sum(row["answer"] is None for row in rows), len(asked))
    return Preferences(rows, sorted({answer.model for answer in answers if isinstance(answer, Response)}))


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


def _request(comparison: Comparison, prompt: Prompt, pair: _Pair) -> Request:
    """Return the request for a verdict on two captions, by greedy decoding."""
    image = pair.image
    shown = [Picture(image.image, comparison.image_size)] if image.image is not None else []
    message: Message = ("user", [*shown, prompt.text(*pair.texts, image.references)])
    parameters: dict[str, Any] = {"temperature": 0.0, "max_tokens": comparison.max_tokens}
    if comparison.structured:
        parameters["response_format"] = RESPONSE_FORMAT
    return Request([message], parameters)


def _answers(comparison: Comparison, name: str, requests: Sequence[Request]) -> list[Answer]:
    """Return the answers to requests. Raises captionlab.served.client.ServerError, with advice on `structured`."""
    try:
        return ask(comparison, requests, f"comparisons.{name}")
    except ServerError as error:
        if comparison.structured and ("HTTP 400" in str(error) or "HTTP 422" in str(error)):
            raise ServerError(f"{error}; if the server knows no response_format, write `structured: false`") from error
        raise


def _asked_again(
    comparison: Comparison, name: str, requests: Sequence[Request], answers: Sequence[Answer]
) -> list[Answer]:
    """Return answers in which those of another form are replaced by what the model says to a second request.

    The budget, and the failures that are allowed, are for all requests of the job.
    """
    wrong = {
        place: answer
        for place, answer in enumerate(answers)
        if isinstance(answer, Response) and read_verdict(answer.text) is None
    }
    if not wrong:
        return list(answers)
    logger.warning("comparisons.%s: %d answers are not the JSON object; they are asked for again", name, len(wrong))
    again = [
        Request(
            [*requests[place].messages, ("assistant", [answer.text]), ("user", [AGAIN])], requests[place].parameters
        )
        for place, answer in wrong.items()
    ]
    allowed = min(1.0, comparison.max_failed * len(requests) / len(again))
    server = comparison.model_copy(update={"max_failed": allowed, **_rest_of_budget(comparison, answers)})
    second = dict(zip(wrong, _answers(server, name, again), strict=True))
    return [second.get(place, answer) for place, answer in enumerate(answers)]


def _rest_of_budget(comparison: Comparison, answers: Sequence[Answer]) -> dict[str, float]:
    """Return the key `budget` without the price of the answers; nothing if there is no budget or no price."""
    if comparison.budget is None or comparison.price is None:
        return {}
    tokens = np.sum([answer.tokens for answer in answers if isinstance(answer, Response)], axis=0)
    return {"budget": comparison.budget - float(tokens @ [comparison.price.input, comparison.price.output]) / 1e6}


def _verdict(answer: Answer) -> Verdict:
    """Return the verdict of an answer; without an answer, the reason says why."""
    if isinstance(answer, Failure):
        return Verdict(None, answer.reason)
    return read_verdict(answer.text) or Verdict(None, f"not the JSON object: {' '.join(answer.text.split())[:_KEPT]}")
