"""Config of the extractive answerer."""

from typing import Literal

from captionlab.config.questions import Answerer, AnswererFacts

FACTS = AnswererFacts()


class Config(Answerer):
    """An answerer that looks for the words of the options in a caption."""

    kind: Literal["extractive"]
