"""CLAIR (Chan et al. 2023): how likely a caption describes the same image as the references, with a reason."""

from captionlab.config.judges import Clair as ClairConfig
from captionlab.evaluation.judges.judge import Candidate, JsonJudge, Verdict
from captionlab.evaluation.judges.prompts import question, shipped_template
from captionlab.served.forms import object_schema
from captionlab.served.responses import Response

HIGHEST = 100
SCHEMA = object_schema(score={"type": "number", "minimum": 0, "maximum": HIGHEST}, reason={"type": "string"})


class Clair(JsonJudge):
    """A judge by CLAIR."""

    again = 'Answer again, with one JSON object alone, which has the keys "score" (0 to 100) and "reason".'

    def __init__(self, config: ClairConfig):
        super().__init__(config, SCHEMA)
        self.template = shipped_template("clair.txt.jinja")

    def question(self, candidate: Candidate) -> str:
        """Return the published question."""
        return question(self.template, candidate.caption, [*candidate.references])

    def read(self, response: Response) -> Verdict:
        """Return the score divided by 100, as the published code does, and the reason."""
        answer = self.answer(response)
        return Verdict(answer["score"] / HIGHEST, answer["reason"])
