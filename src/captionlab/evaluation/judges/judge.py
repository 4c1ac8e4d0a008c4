"""What every kind of judge does: ask about a caption, and read the answer."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from captionlab.config.judges import Judge as JudgeConfig
from captionlab.config.judges import Structured
from captionlab.served.forms import json_answer, response_format
from captionlab.served.responses import Response


@dataclass(frozen=True)
class Candidate:
    """A caption that is judged."""

    caption: str
    references: Sequence[str] = ()
    """references of its image; () if the judge reads none"""
    image: Mapping[str, Any] | None = None
    """row of its image, at least the columns LOCATION; None if the judge sees no images"""


@dataclass(frozen=True)
class Verdict:
    """The answer of a judge."""

    score: float
    """on the scale of captionlab.config.judges.Judge.range"""
    reason: str | None = None
    smoothed: bool = False
    """whether the score is smoothed by the probabilities of its digits"""


class Judge(ABC):
    """A kind of judge."""

    again: str
    """how to answer, for the second question"""
    why = ""
    """question for the reason after a score; empty if reasons stand beside scores"""

    def __init__(self, config: JudgeConfig):
        self.config = config

    @abstractmethod
    def question(self, candidate: Candidate) -> str:
        """Return the question about a caption."""

    @abstractmethod
    def read(self, response: Response) -> Verdict:
        """Return what an answer says. Raises captionlab.served.forms.AnswerError."""

    def parameters(self) -> dict[str, Any]:
        """Return the parameters of every question: greedy decoding."""
        return {"temperature": 0.0, "max_tokens": self.config.max_tokens}

    def asked_for(self) -> dict[str, Any]:
        """Return further parameters of a question for a score, which not all servers know: a form, or probabilities."""
        return {}

    def advice(self) -> str:
        """Return what to change if the server does not know these parameters."""
        return ""


class JsonJudge(Judge):
    """A kind of judge that answers in JSON of a schema."""

    def __init__(self, config: Structured, schema: Mapping[str, Any]):
        super().__init__(config)
        self.schema, self.structured = schema, config.structured

    def asked_for(self) -> dict[str, Any]:
        """Return the schema of answers, if the server is asked for it."""
        return {"response_format": response_format(self.schema)} if self.structured else {}

    def advice(self) -> str:
        """Return how to ask without a schema."""
        return "write `structured: false`" if self.structured else ""

    def answer(self, response: Response) -> dict[str, Any]:
        """Return the JSON of an answer. Raises captionlab.served.forms.AnswerError."""
        return json_answer(response.text, self.schema)
