"""Judgements of captions: every caption is asked about, once more if its answer cannot be read, and for reasons."""

import logging
from collections.abc import Sequence
from dataclasses import replace
from itertools import compress

from captionlab.config.judges import Clair as ClairConfig
from captionlab.config.judges import Fleur as FleurConfig
from captionlab.config.judges import Judge as JudgeConfig
from captionlab.config.judges import Rubric as RubricConfig
from captionlab.config.judges import Seeing as SeeingConfig
from captionlab.evaluation.judges.clair import Clair
from captionlab.evaluation.judges.fleur import Fleur
from captionlab.evaluation.judges.judge import Candidate, Judge, Verdict
from captionlab.evaluation.judges.rubric import Rubric
from captionlab.served.client import Client, advice
from captionlab.served.reading import Reading, read_answers
from captionlab.served.requests import Message, Picture, Request
from captionlab.served.responses import Response

logger = logging.getLogger(__name__)


Judgement = Reading[Verdict]


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
    client = Client(judge.config, asker)
    can_be_judged = [bool(one.references) or not judge.config.reads_references for one in candidates]
    parameters = {**judge.parameters(), **judge.asked_for()}
    requests = [Request(_first(judge, one), parameters) for one in compress(candidates, can_be_judged)]
    with advice(*judge.asked_for(), say=judge.advice()):
        asked = read_answers(client, requests, [judge.read] * len(requests), judge.again)
    if judge.why:
        _add_reasons(judge, client, [judgement for judgement in asked if judgement.value])
    each = iter(asked)
    every = [next(each) if can_be else Judgement(fault="its image has no references") for can_be in can_be_judged]
    _log(every, asker)
    return every


def _add_reasons(judge: Judge, client: Client, judged: Sequence[Judgement]) -> None:
    """Ask for the reason of each score; a reason that cannot be had is left out."""
    chats = [[*judgement.chat, ("user", [judge.why])] for judgement in judged]
    answers = client.ask([Request(chat, judge.parameters()) for chat in chats])
    for judgement, answer in zip(judged, answers, strict=True):
        if isinstance(answer, Response) and judgement.value:
            judgement.value = replace(judgement.value, reason=answer.text.strip())


def _first(judge: Judge, candidate: Candidate) -> list[Message]:
    """Return the chat about a caption: the image, if the judge sees images, and the question."""
    contents: list[str | Picture] = [judge.question(candidate)]
    if isinstance(judge.config, SeeingConfig) and candidate.image is not None:
        contents.insert(0, Picture(candidate.image, judge.config.image_size))
    return [("user", contents)]


def _log(every: Sequence[Judgement], asker: str) -> None:
    verdicts = [judgement.value for judgement in every if judgement.value]
    logger.info("%s: %d of %d captions have a score", asker, len(verdicts), len(every))
    logger.info("%s: %d scores are smoothed", asker, sum(verdict.smoothed for verdict in verdicts))
    logger.info("%s: %d captions were asked about twice", asker, sum(judgement.questions > 1 for judgement in every))
    for fault in sorted({judgement.fault for judgement in every if judgement.fault})[:5]:
        logger.warning("%s: no answer: %s", asker, fault)
