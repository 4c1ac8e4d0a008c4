"""The interface of answerers, and the questions of a table with their answers."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from captionlab.config.served import TRANSPORT
from captionlab.plugins import defined
from captionlab.questions.entries import Question, is_correct
from captionlab.questions.schemas import QUESTIONS
from captionlab.storage.tables import read_table


class Answerer(Protocol):
    """Answers questions about images from captions alone: it sees neither the images nor their references."""

    def answer(self, captions: Sequence[str], questions: Sequence[Question]) -> Sequence[str | None]:
        """Return the answer that each caption gives to the question at its place; None if the caption does not say."""
        ...


def build_answerer(config: Mapping[str, Any], questions: str) -> Answerer:
    """Return the answerer of a config block, built by the module of its kind. `questions` is the name of the set."""
    answerer: Answerer = defined("questions.answerers", config["kind"], "build")(config, f"questions.{questions}")
    return answerer


def with_servers(sets: Mapping[str, Mapping[str, Any]], config: Mapping[str, Any]) -> dict[str, Any]:
    """Return sets of questions, by name, in which answerers know how to reach their servers.

    Each set has the keys of its answerer that answers depend on, because these are parameters of a job. The address,
    prices and limits of a server come from the config of the run. Blocks without an answerer are returned as they are.
    """
    written = config.get("questions", {})
    return {
        name: {**block, "answerer": {**block["answerer"], **_transport(written.get(name.rpartition("/")[2], {}))}}
        if "answerer" in block
        else block
        for name, block in sets.items()
    }


def _transport(questions: Mapping[str, Any]) -> dict[str, Any]:
    """Return how to reach the server of the answerer of a block of questions."""
    return {key: value for key, value in questions.get("answerer", {}).items() if key in TRANSPORT}


class ImageQuestions:
    """The questions about each image of a table QUESTIONS, with their correct answers."""

    def __init__(self, path: str):
        self._of: dict[str, list[tuple[Question, str]]] = {}
        for row in read_table(path, QUESTIONS).to_pylist():
            question = Question(row["kind"], row["question"], tuple(row["options"]))
            self._of.setdefault(row["image_id"], []).append((question, row["answer"]))

    def __contains__(self, image: str) -> bool:
        """Return whether there are questions about an image."""
        return image in self._of

    def outcomes(
        self, answerer: Answerer, images: Sequence[str], captions: Sequence[str]
    ) -> list[list[tuple[str, bool | None]]]:
        """Return the kind and the outcome of each question about the image of each caption.

        The outcome is whether the answer is correct, or None if the caption does not answer the question.
        """
        asked = [self._of.get(image, []) for image in images]
        texts = [caption for caption, questions in zip(captions, asked, strict=True) for _ in questions]
        answers = iter(answerer.answer(texts, [question for questions in asked for question, _ in questions]))
        return [
            [(question.kind, _outcome(next(answers), right, question.options)) for question, right in questions]
            for questions in asked
        ]


def _outcome(answer: str | None, expected: str, options: Sequence[str]) -> bool | None:
    return None if answer is None else is_correct(answer, expected, options)
