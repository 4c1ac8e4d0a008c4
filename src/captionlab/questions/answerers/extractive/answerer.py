"""An extractive answerer: the option with the largest share of its content words in the caption.

Content words are words without articles, prepositions, pronouns, auxiliaries and the like. A word and its regular
plural are the same word. If two options have the same share, or no option has a word in the caption, the caption does
not say. To a question with the options yes and no, the answer is yes if the caption has all content words of the
question; else the caption does not say, because captions do not state what is absent. Questions without options have no
answer. No network is asked, so paraphrases are not understood.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from captionlab.questions.entries import Question
from captionlab.texts.plurals import regular_plural

# Words that say nothing about an image.
_FUNCTION_WORDS = """
a an the this that these those some any each every all both there here it its he she they them his her their we you i
is are was were be been being am do does did has have had can could will would shall should may might must and or but
if of in on at by for from to with into onto over under as than then so not no yes none which what who whom whose where
when why how many much image picture photo
"""
STOP_WORDS = frozenset(_FUNCTION_WORDS.split())
YES, NO = "yes", "no"


class ExtractiveAnswerer:
    """Answers questions by the words that a caption shares with the options."""

    def answer(self, captions: Sequence[str], questions: Sequence[Question]) -> list[str | None]:
        """Return the option that each caption chooses for the question at its place; None if it does not say."""
        known = {caption: _forms(caption) for caption in dict.fromkeys(captions)}
        return [_chosen(known[caption], question) for caption, question in zip(captions, questions, strict=True)]


def content_words(text: str) -> list[str]:
    """Return the words of a text in lower case, without STOP_WORDS."""
    return [word for word in re.findall(r"\w+", text.casefold()) if word not in STOP_WORDS]


def _forms(caption: str) -> set[str]:
    """Return the content words of a caption, and their regular plurals."""
    words = content_words(caption)
    return {*words, *map(regular_plural, words)}


def _chosen(forms: set[str], question: Question) -> str | None:
    answers = {option.casefold(): option for option in question.options}
    if answers.keys() == {YES, NO}:
        return answers[YES] if _share(forms, question.text) == 1 else None
    shares = {option: _share(forms, option) for option in question.options}
    best = [option for option, share in shares.items() if share and share == max(shares.values())]
    return best[0] if len(best) == 1 else None


def _share(forms: set[str], text: str) -> float:
    """Return the share of the content words of a text that a caption has; 0 if the text has none.

    `forms` has the caption's words and their plurals. A caption that has the plural of a word has the word.
    """
    words = content_words(text)
    there = [word for word in words if word in forms or regular_plural(word) in forms]
    return len(there) / len(words) if words else 0.0


def build(config: Mapping[str, Any], asker: str) -> ExtractiveAnswerer:
    """Return the answerer."""
    return ExtractiveAnswerer()
