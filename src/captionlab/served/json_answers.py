"""Answers as JSON of a schema."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from captionlab.served.client import Client, advice
from captionlab.served.forms import json_answer, response_format
from captionlab.served.reading import Reading, read_answers
from captionlab.served.requests import Message, Request
from captionlab.served.responses import Response

Schema = Mapping[str, Any]
AGAIN = "Answer again, with the JSON object that was asked for and nothing else."


class Asked(NamedTuple):
    """A chat, and the JSON Schema of the answer that it asks for."""

    chat: Sequence[Message]
    schema: Schema


def ask_for_json(
    client: Client, questions: Sequence[Asked], parameters: Mapping[str, Any], structured: bool
) -> list[Reading[dict[str, Any]]]:
    """Return the JSON object with which a model answers each question.

    An answer that is not one JSON object of the schema is asked for once more. `parameters` are those of every request.
    With `structured`, the server is asked to keep to the schema. Raises captionlab.served.client.ServerError.
    """
    requests = [
        Request(chat, {**parameters, **({"response_format": response_format(schema)} if structured else {})})
        for chat, schema in questions
    ]
    readers = [partial(_read, asked.schema) for asked in questions]
    with advice("response_format", "json_schema", say="write `structured: false`" if structured else ""):
        return read_answers(client, requests, readers, AGAIN)


def _read(schema: Schema, response: Response) -> dict[str, Any]:
    return json_answer(response.text, schema)
