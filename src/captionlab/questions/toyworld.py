"""The questions that the toy world asks: their kinds, texts and answers."""

from collections.abc import Mapping

from captionlab.corpora.toyworld.lexicon import NOUNS
from captionlab.corpora.toyworld.world import COLOURS, PEOPLE, SCENES
from captionlab.questions.entries import Question

OBJECT, COLOUR, COUNT, SCENE = KINDS = ("object", "colour", "count", "scene")
WHICH, WHERE = "which of these is in the picture?", "where is this?"
# Texts of questions by class of objects. They do not tell how many objects there are.
COLOUR_OF: Mapping[str, str] = {
    label: f"what colour does each {label} wear?" if label in PEOPLE else f"what colour is each {nouns[0].singular}?"
    for label, nouns in NOUNS.items()
}
COUNT_OF: Mapping[str, str] = {label: f"how many {nouns[0].plural} are there?" for label, nouns in NOUNS.items()}
COUNTS = ("one", "two", "three")
# The answers that stand for a class of objects, and for a scene.
OBJECT_ANSWERS: Mapping[str, str] = {label: nouns[0].singular for label, nouns in NOUNS.items()}
SCENE_ANSWERS: Mapping[str, str] = {name: scene.names[0] for name, scene in SCENES.items()}
OPTIONS = 4  # of a question, if there are as many answers

_CLASSES = {text: label for texts in (COLOUR_OF, COUNT_OF) for label, text in texts.items()}


def class_of(question: Question) -> str | None:
    """Return the class of objects that a question on colour or count is about; None for another question."""
    return _CLASSES.get(question.text)


def all_answers(kind: str) -> tuple[str, ...]:
    """Return all answers to questions of a kind."""
    answers = {OBJECT: OBJECT_ANSWERS.values(), COLOUR: COLOURS, COUNT: COUNTS, SCENE: SCENE_ANSWERS.values()}
    return tuple(answers[kind])
