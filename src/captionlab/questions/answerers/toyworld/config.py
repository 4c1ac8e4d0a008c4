"""Config of the answerer for the language of the toy world."""

from typing import Literal

from captionlab.config.questions import Answerer, AnswererFacts

FACTS = AnswererFacts(of_toyworld=True)


class Config(Answerer):
    """An answerer that understands the language of the toy world."""

    kind: Literal["toyworld"]
