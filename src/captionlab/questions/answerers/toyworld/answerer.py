"""An answerer that understands the language of the toy world, and says only what a caption states."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from captionlab.corpora.toyworld.statements import Statements, statements
from captionlab.questions.entries import Question
from captionlab.questions.toyworld import COLOUR_OF, COUNTS, OBJECT_ANSWERS, SCENE_ANSWERS, WHERE, WHICH, class_of


class ToyworldAnswerer:
    """Answers the questions of the reader toyworld by the words of a caption."""

    def answer(self, captions: Sequence[str], questions: Sequence[Question]) -> list[str | None]:
        """Return the answer that each caption states to the question at its place.

        The answer is None if the caption does not state it, if it states two different answers, or if the toy world
        does not ask this question.
        """
        known = {caption: statements(caption) for caption in dict.fromkeys(captions)}
        return [_answer(known[caption], question) for caption, question in zip(captions, questions, strict=True)]


def _answer(stated: Statements, question: Question) -> str | None:
    if question.text == WHERE:
        return _only([SCENE_ANSWERS[scene] for scene in stated.scenes])
    if question.text == WHICH:
        named = {OBJECT_ANSWERS[label] for label in stated.counts}
        return _only([option for option in question.options if option in named])
    if (label := class_of(question)) is None:
        return None
    if question.text == COLOUR_OF[label]:
        return _only(stated.colours.get(label, ()))
    return _only([COUNTS[number - 1] for number in stated.counts.get(label, ())])


def _only(answers: Collection[str]) -> str | None:
    """Return the only answer; None if there are none or several."""
    return next(iter(answers)) if len(answers) == 1 else None


def build(config: Mapping[str, Any], asker: str) -> ToyworldAnswerer:
    """Return the answerer."""
    return ToyworldAnswerer()
