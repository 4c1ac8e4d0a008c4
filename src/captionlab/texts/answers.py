"""The captions in answers of chat models."""

import re

_SENTENCE = re.compile(r"(?<=[.!?])\s|\n")


def caption_in(answer: str, first_sentence: bool = False, max_words: int | None = None) -> str:
    """Return the caption in an answer, without white space around it.

    With `first_sentence`, only the first sentence is kept. With `max_words`, only that many words are kept.
    """
    text = answer.strip()
    if first_sentence:
        text = _SENTENCE.split(text, maxsplit=1)[0].strip()
    return " ".join(text.split()[:max_words]) if max_words else text


def cut_after(caption: str, stop: str | None) -> str:
    """Return a caption up to and with the first occurrence of a text, or the whole caption if it lacks the text."""
    if stop is None or stop not in caption:
        return caption
    return caption[: caption.index(stop) + len(stop)]
