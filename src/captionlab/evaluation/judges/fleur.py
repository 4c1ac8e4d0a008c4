"""FLEUR (Lee et al. 2024): how accurately and clearly a caption describes its image, smoothed by probabilities."""

import math
from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Any

from captionlab.config.judges import Fleur as FleurConfig
from captionlab.evaluation.judges.judge import Candidate, Judge, Verdict
from captionlab.evaluation.judges.prompts import question, shipped_template
from captionlab.served.forms import number_answer
from captionlab.served.responses import Response

# Tokens of which a server gives the probabilities; OpenAI's interface has no more.
LIKELIEST = 20
# Decimals that are smoothed.
DECIMALS = 2
# Log-probabilities (nats) of the likeliest tokens at the place of each token of an answer.
LogProbs = Sequence[Mapping[str, float]]


class Fleur(Judge):
    """A judge by FLEUR."""

    again = "Answer again, with the number alone, such as 0.7."

    def __init__(self, config: FleurConfig):
        super().__init__(config)
        self.smoothing = config.smoothing
        self.why = "Why? Tell me the reason." if config.reasons else ""
        self.template = shipped_template("fleur.txt.jinja")

    def question(self, candidate: Candidate) -> str:
        """Return the published question."""
        return question(self.template, candidate.caption, [])

    def read(self, response: Response) -> Verdict:
        """Return the smoothed score, or the score as it is written if the server gives no probabilities."""
        number = number_answer(response.text)
        score = smoothed_score(number, response.top_log_probs()) if self.smoothing else None
        return Verdict(float(number)) if score is None else Verdict(score, smoothed=True)

    def asked_for(self) -> dict[str, Any]:
        """Return the parameters that ask for probabilities, if scores are smoothed."""
        return {"logprobs": True, "top_logprobs": LIKELIEST} if self.smoothing else {}

    def advice(self) -> str:
        """Return how to ask without probabilities."""
        return "write `smoothing: false`" if self.smoothing else ""


def smoothed_score(number: str, log_probs: LogProbs) -> float | None:
    """Return the score that an answer expresses, smoothed as in the published code; None if it cannot be smoothed.

    Each of the first two decimals is replaced by the sum of all digits times their probabilities, which need not add up
    to 1. A second decimal of 0 is left out. A score of 1 becomes 0.9 times the probability of the token 0 plus the
    probability of the token 1. Tokens of several digits, which LLaVA does not have, count like their digits together.
    """
    tokens = [max(likeliest, key=likeliest.__getitem__, default="") for likeliest in log_probs]
    begin = "".join(tokens).rfind(number)
    places = dict(zip(accumulate(map(len, tokens), initial=0), log_probs, strict=False))
    if begin < 0:
        return None
    if float(number) == 1:
        ones = places.get(begin, {})
        return 0.9 * _probability(ones, "0") + _probability(ones, "1") if "1" in ones else None
    point = number.find(".")
    if point < 0:
        return None
    decimals = number[point + 1 :].rstrip("0")[:DECIMALS] or "0"
    score, done = 0.0, 0
    while done < len(decimals):
        likeliest = places.get(begin + point + 1 + done, {})
        token = max(likeliest, key=likeliest.__getitem__, default="")
        if not _is_number(token):
            return None
        numbers = [other for other in likeliest if _is_number(other)]
        score += sum(_probability(likeliest, digits) * int(digits) / 10 ** (done + len(digits)) for digits in numbers)
        done += len(token)
    return score


def _probability(log_probs: Mapping[str, float], token: str) -> float:
    """Return the probability of a token; 0 if it is not among the likeliest."""
    return math.exp(log_probs[token]) if token in log_probs else 0.0


def _is_number(token: str) -> bool:
    return token.isascii() and token.isdigit()
