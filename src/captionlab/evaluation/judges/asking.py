"""Judgements of captions: every caption is asked about, once more if its answer cannot be read, and for reasons."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from captionlab.config.judges import Clair as ClairConfig
from captionlab.config.judges import Fleur as FleurConfig
from captionlab.config.judges import Judge as JudgeConfig
from captionlab.config.judges import Rubric as RubricConfig
from captionlab.config.judges import Seeing as SeeingConfig
from captionlab.evaluation.judges.clair import Clair
from captionlab.evaluation.judges.fleur import Fleur
from captionlab.evaluation.judges.judge import Candidate, Judge, Verdict
from captionlab.evaluation.judges.rubric import Rubric
from captionlab.served.client import Answer, Client, advice
from captionlab.served.forms import AnswerError
from captionlab.served.requests import Message, Picture, Request
from captionlab.served.responses import Failure, Response

logger = logging.getLogger(__name__)


@dataclass
class Judgement:
    """What a judge says of a caption."""

    chat: list[Message]
    """questions and answers so far, the first question included"""
    verdict: Verdict | None = None
    fault: str | None = None
    """why there is no verdict"""
    questions: int = 0
    """how often the judge was asked for the score"""


def build_judge(config: JudgeConfig, template: str | None) -> Judge:
    """Return the judge of a block of a config; `template` is the path of the template of a rubric."""
    if isinstance(config, ClairConfig):
        return Clair(config)
    if isinstance(config, FleurConfig):
        return Fleur(config)
    if isinstance(config, RubricConfig) and template is not None:
        return Rubric(config, template)
    raise ValueError(f"{type(config).__name__} is no kind of judge")


def judgements(judge: Judge, candidates: Sequence[Candidate], asker: str) -> list[Judgement]:
    """Return what a judge says of captions, in order. `asker` is the place of the judge in the config, for messages.

    A caption of an image without references has no verdict by a judge that reads references. Raises
    captionlab.served.client.ServerError.
    """
    every = [Judgement(_first(judge, candidate)) for candidate in candidates]
    asking = _Asking(judge, asker)
    asked = []
    for judgement, candidate in zip(every, candidates, strict=True):
        if judge.config.reads_references and not candidate.references:
            judgement.fault = "its image has no references"
        else:
            asked.append(judgement)
    asking.ask_for_scores(asked)
    asking.ask_for_scores([judgement for judgement in asked if _can_be_asked_again(judgement)])
    if judge.why:
        asking.ask_for_reasons([judgement for judgement in asked if judgement.verdict])
    _log(every, asker)
    return every


class _Asking:
    """The requests of a job to a judge."""

    def __init__(self, judge: Judge, asker: str):
        self.judge, self.client = judge, Client(judge.config, asker)

    def ask_for_scores(self, asked: Sequence[Judgement]) -> None:
        """Ask the last question of each chat, and read the answers."""
        parameters = {**self.judge.parameters(), **self.judge.asked_for()}
        for judgement, answer in zip(asked, self._answers(asked, parameters), strict=True):
            judgement.questions += 1
            if isinstance(answer, Failure):
                judgement.fault = f"the request failed: {answer.reason}"
                continue
            judgement.chat.append(("assistant", [answer.text]))
            try:
                judgement.verdict, judgement.fault = self.judge.read(answer), None
            except AnswerError as error:
                judgement.fault = f"the answer cannot be read: {error}"
                judgement.chat.append(("user", [f"Your answer cannot be read: {error}. {self.judge.again}"]))

    def ask_for_reasons(self, asked: Sequence[Judgement]) -> None:
        """Ask for the reason of each score; a reason that cannot be had is left out."""
        for judgement in asked:
            judgement.chat.append(("user", [self.judge.why]))
        for judgement, answer in zip(asked, self._answers(asked, self.judge.parameters()), strict=True):
            if isinstance(answer, Response) and judgement.verdict:
                judgement.verdict = replace(judgement.verdict, reason=answer.text.strip())

    def _answers(self, asked: Sequence[Judgement], parameters: Mapping[str, Any]) -> list[Answer]:
        """Return the answers to the last question of each chat."""
        with advice(*self.judge.asked_for(), say=self.judge.advice()):
            return self.client.ask([Request([*judgement.chat], parameters) for judgement in asked])


def _first(judge: Judge, candidate: Candidate) -> list[Message]:
    """Return the chat about a caption: the image, if the judge sees images, and the question."""
    contents: list[str | Picture] = [judge.question(candidate)]
    if isinstance(judge.config, SeeingConfig) and candidate.image is not None:
        contents.insert(0, Picture(candidate.image, judge.config.image_size))
    return [("user", contents)]


def _can_be_asked_again(judgement: Judgement) -> bool:
    """Return whether there was an answer that could not be read."""
    return judgement.verdict is None and judgement.chat[-1][0] == "user" and len(judgement.chat) > 1


def _log(every: Sequence[Judgement], asker: str) -> None:
    verdicts = [judgement.verdict for judgement in every if judgement.verdict]
    logger.info("%s: %d of %d captions have a score", asker, len(verdicts), len(every))
    logger.info("%s: %d scores are smoothed", asker, sum(verdict.smoothed for verdict in verdicts))
    logger.info("%s: %d captions were asked about twice", asker, sum(judgement.questions > 1 for judgement in every))
    for fault in sorted({judgement.fault for judgement in every if judgement.fault})[:5]:
        logger.warning("%s: no answer: %s", asker, fault)
