"""An answerer that is a model behind a server: it reads a caption and a question, and may say that it cannot tell."""

from collections.abc import Mapping, Sequence
from typing import Any

from captionlab.questions.answerers.endpoint.config import Config
from captionlab.questions.entries import Question
from captionlab.served.forms import DATA_NOTE, data_block, object_schema
from captionlab.served.json_answers import Asked, ask_for_json

PROMPT = """{note}

Somebody described an image: {caption}

A question about the image: {question}
{options}
Answer from the description alone. Do not guess: if the description does not say, the answer is null. Answer with one
JSON object and nothing else: {{"answer": ...}}"""


class ServedAnswerer:
    """Answers questions by a model behind a server."""

    def __init__(self, config: Config):
        self.config = config

    def answer(self, captions: Sequence[str], questions: Sequence[Question]) -> list[str | None]:
        """Return the answer to the question at the place of each caption.

        The answer is None if the model cannot tell, if its answer is none of the options, or if its request failed. The
        same question about the same caption is asked once.
        """
        pairs = [*zip(captions, questions, strict=True)]
        different = [*dict.fromkeys(pairs)]
        asked = [Asked([("user", [_prompt(*pair)])], _schema(pair[1])) for pair in different]
        parameters = {"temperature": 0.0, "max_tokens": self.config.max_tokens}
        answers = ask_for_json(self.config, asked, parameters, "the answerer of questions", self.config.structured)
        known = {
            pair: answer.content["answer"] if answer.content else None
            for pair, answer in zip(different, answers, strict=True)
        }
        return [known[pair] for pair in pairs]


def _prompt(caption: str, question: Question) -> str:
    options = f"Options, of which the answer is one: {data_block([*question.options])}\n" if question.options else ""
    return PROMPT.format(
        note=DATA_NOTE, caption=data_block(caption), question=data_block(question.text), options=options
    )


def _schema(question: Question) -> dict[str, Any]:
    answer: dict[str, Any] = {"enum": [*question.options, None]} if question.options else {"type": ["string", "null"]}
    return object_schema(answer=answer)


def build(config: Mapping[str, Any]) -> ServedAnswerer:
    """Return the answerer."""
    return ServedAnswerer(Config.model_validate(dict(config)))
