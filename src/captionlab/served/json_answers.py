"""Answers as JSON of a schema: read strictly, and asked for once more."""

import logging
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from captionlab.served.client import Answer, Client, advice
from captionlab.served.forms import AnswerError, json_answer, response_format
from captionlab.served.requests import Message, Request
from captionlab.served.responses import Failure, Response

logger = logging.getLogger(__name__)
Schema = Mapping[str, Any]


class JsonAnswer(NamedTuple):
    """An answer, or why there is none."""

    content: dict[str, Any] | None
    """the JSON object; None if there is none"""
    fault: str | None = None
    """why there is none"""


class Asked(NamedTuple):
    """A chat, and the JSON Schema of the answer that it asks for."""

    chat: Sequence[Message]
    schema: Schema


def ask_for_json(
    client: Client, questions: Sequence[Asked], parameters: Mapping[str, Any], structured: bool
) -> list[JsonAnswer]:
    """Return the answer of a model to each question.

    An answer that is not one JSON object of the schema is asked for once more. `parameters` are those of every request.
    With `structured`, the server is asked to keep to the schema. Raises captionlab.served.client.ServerError.
    """
    requests = [
        Request(chat, {**parameters, **({"response_format": response_format(schema)} if structured else {})})
        for chat, schema in questions
    ]
    with advice("response_format", "json_schema", say="write `structured: false`" if structured else ""):
        answers = client.ask(requests)
        wrong = dict(_faults(answers, questions))
        if wrong:
            logger.warning("%s: %d answers are not what was asked for; asking once more", client.asker, len(wrong))
            again = client.ask([_again(requests[place], answers[place], fault) for place, fault in wrong.items()])
            second = dict(zip(wrong, again, strict=True))
            answers = [second.get(place, answer) for place, answer in enumerate(answers)]
    logger.info("%s: %d of %d have no answer", client.asker, len([*_faults(answers, questions)]), len(questions))
    return [_read(answer, asked.schema) for answer, asked in zip(answers, questions, strict=True)]


def _faults(answers: Sequence[Answer], questions: Sequence[Asked]) -> Iterator[tuple[int, str]]:
    """Yield the place of each response that cannot be read, and why."""
    for place, (answer, asked) in enumerate(zip(answers, questions, strict=True)):
        if isinstance(answer, Response) and (fault := _read(answer, asked.schema).fault):
            yield place, fault


def _read(answer: Answer, schema: Schema) -> JsonAnswer:
    if isinstance(answer, Failure):
        return JsonAnswer(None, f"the request failed: {answer.reason}")
    try:
        return JsonAnswer(json_answer(answer.text, schema))
    except AnswerError as error:
        return JsonAnswer(None, f"the answer cannot be read: {error}")


def _again(request: Request, answer: Answer, fault: str) -> Request:
    """Return the request for another answer in place of one that cannot be read."""
    text = answer.text if isinstance(answer, Response) else ""
    complaint = (
        f"{fault[:1].upper()}{fault[1:]}. Answer again, with the JSON object that was asked for and nothing else."
    )
    return Request([*request.messages, ("assistant", [text]), ("user", [complaint])], request.parameters)
