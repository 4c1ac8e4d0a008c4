"""Answers that are read strictly, and asked for once more if they cannot be read."""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from captionlab.served.client import Answer, Client
from captionlab.served.forms import AnswerError
from captionlab.served.requests import Message, Request
from captionlab.served.responses import Failure, Response

logger = logging.getLogger(__name__)
Value = TypeVar("Value")


@dataclass
class Reading(Generic[Value]):
    """What was read in the answers to a question."""

    value: Value | None = None
    fault: str | None = None
    """why there is no value"""
    questions: int = 0
    """how often was asked"""
    chat: Sequence[Message] = field(default=(), repr=False)
    """the questions and answers"""


def read_answers(
    client: Client, requests: Sequence[Request], readers: Sequence[Callable[[Response], Value]], again: str
) -> list[Reading[Value]]:
    """Return what a model answers to each request, as the reader of the request reads it.

    An answer for which the reader raises AnswerError is asked for once more: the model is told why it cannot be read,
    and `again`, how to answer. Raises captionlab.served.client.ServerError.
    """
    first = client.ask(requests)
    readings = [_read(*each) for each in zip(requests, first, readers, strict=True)]
    unread = [
        place for place, answer in enumerate(first) if isinstance(answer, Response) and readings[place].value is None
    ]
    if unread:
        logger.warning("%s: %d answers cannot be read; asking once more", client.asker, len(unread))
        second = [_asked_again(requests[place], readings[place], again) for place in unread]
        for place, request, answer in zip(unread, second, client.ask(second), strict=True):
            readings[place] = _read(request, answer, readers[place], questions=2)
    missing = sum(reading.value is None for reading in readings)
    logger.info("%s: %d of %d have no answer", client.asker, missing, len(requests))
    return readings


def _read(request: Request, answer: Answer, reader: Callable[[Response], Value], questions: int = 1) -> Reading[Value]:
    if isinstance(answer, Failure):
        return Reading(None, f"the request failed: {answer.reason}", questions, request.messages)
    chat = [*request.messages, ("assistant", [answer.text])]
    try:
        return Reading(reader(answer), None, questions, chat)
    except AnswerError as error:
        return Reading(None, f"the answer cannot be read: {error}", questions, chat)


def _asked_again(request: Request, reading: Reading[Value], again: str) -> Request:
    """Return the request for another answer in place of an answer that cannot be read."""
    fault = reading.fault or ""
    complaint = f"{fault[:1].upper()}{fault[1:]}. {again}"
    return Request([*reading.chat, ("user", [complaint])], request.parameters)
