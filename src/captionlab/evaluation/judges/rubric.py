"""Rubrics: questions of users, with a declared form of the answer."""

import json
from typing import Any

from captionlab.config.judges import Rubric as RubricConfig
from captionlab.evaluation.judges.judge import Candidate, JsonJudge, Verdict
from captionlab.evaluation.judges.prompts import question, user_template
from captionlab.served.forms import object_schema
from captionlab.served.responses import Response


class Rubric(JsonJudge):
    """A judge by a template of a user; the reason comes before the score, so that the score can follow from it."""

    def __init__(self, config: RubricConfig, template: str):
        """Take the path of the template. Raises captionlab.evaluation.judges.prompts.TemplateMistake."""
        self.template = user_template(template, config.references)
        self.choices = config.answer.choices
        if self.choices:
            key, form = "choice", dict[str, Any](type="string", enum=[*self.choices])
            values = f"one of {json.dumps([*self.choices], ensure_ascii=False)}"
        else:
            low, high = config.range
            key, form = "score", {"type": "number", "minimum": low, "maximum": high}
            values = f"a number from {low:g} to {high:g}"
        super().__init__(config, object_schema(reason={"type": "string"}, **{key: form}))
        self.end = f'Answer with one JSON object alone, which has the keys "reason" (a text) and "{key}" ({values}).'
        self.again = self.end.replace("Answer", "Answer again,", 1)

    def question(self, candidate: Candidate) -> str:
        """Return the filled template, and how to answer."""
        return question(self.template, candidate.caption, [*candidate.references], self.end)

    def read(self, response: Response) -> Verdict:
        """Return the score, or the score of the choice, and the reason."""
        answer = self.answer(response)
        score = self.choices[answer["choice"]] if self.choices else answer["score"]
        return Verdict(float(score), answer["reason"])
