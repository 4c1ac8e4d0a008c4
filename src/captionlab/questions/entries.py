"""Input and output of readers of questions, and the question that an answerer sees."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

# Kind of questions whose file names no kind.
OTHER = "other"
_ARTICLES = {"a", "an", "the"}


@dataclass(frozen=True, slots=True)
class Question:
    """A question as an answerer sees it. `options` is empty if any answer may be given."""

    kind: str
    text: str
    options: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Entry:
    """A question about an image with its answer. `image_id` is the image's id, or the name of its file."""

    image_id: str
    question: Question
    answer: str


@dataclass(frozen=True)
class Described:
    """The images of a corpus in order, each with its rows of OBJECTS and its scene, if the corpus has these."""

    images: Sequence[str]
    objects: Mapping[str, Sequence[Mapping[str, Any]]]
    scenes: Mapping[str, str]


def is_correct(answer: str | None, expected: str, options: Sequence[str] = ()) -> bool:
    """Return whether an answer to a question with these options is the expected answer.

    If the answer is one of the options, it must be exactly the expected one, because options may differ in punctuation
    alone, such as 5 and -5. Another answer must have the words of the expected answer, whatever their case, punctuation
    and articles.
    """
    if answer is None:
        return False
    if answer.strip() in options:
        return answer.strip() == expected
    return _words(answer) == _words(expected)


def _words(text: str) -> list[str]:
    """Return the words of a text without articles, or the articles if it has no other words, or else the whole text."""
    words = re.findall(r"\w+", text.casefold())
    return [word for word in words if word not in _ARTICLES] or words or [text.strip()]
