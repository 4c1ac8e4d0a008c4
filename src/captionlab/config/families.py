"""Facts of the families of models, readers, rewards and metrics, without importing their networks and libraries."""

from collections.abc import Iterator, Mapping
from typing import Any

from captionlab import plugins
from captionlab.config.blocks import has_captions
from captionlab.config.captioners import CaptionerFacts
from captionlab.config.corpora import CorpusFacts, JudgementFacts
from captionlab.config.encoders import EncoderFacts
from captionlab.config.languages import other_tokenizers
from captionlab.config.metrics import MetricFacts
from captionlab.config.questions import AnswererFacts, ReaderFacts
from captionlab.config.rewards import RewardFacts
from captionlab.config.scorers import ScorerFacts


def captioners() -> Mapping[str, CaptionerFacts]:
    """Return the facts of each family of captioners."""
    return plugins.facts("captioners")


def encoders() -> Mapping[str, EncoderFacts]:
    """Return the facts of each family of encoders."""
    return plugins.facts("encoders")


def scorers() -> Mapping[str, ScorerFacts]:
    """Return the facts of each family of scorers."""
    return plugins.facts("scorers")


def readers() -> Mapping[str, CorpusFacts]:
    """Return the facts of each reader of corpora."""
    return plugins.facts("corpora.readers")


def judgement_readers() -> Mapping[str, JudgementFacts]:
    """Return the facts of each reader of judged captions."""
    return plugins.facts("judgements.readers")


def question_readers() -> Mapping[str, ReaderFacts]:
    """Return the facts of each reader of questions."""
    return plugins.facts("questions.readers")


def answerers() -> Mapping[str, AnswererFacts]:
    """Return the facts of each kind of answerer of questions."""
    return plugins.facts("questions.answerers")


def rewards() -> Mapping[str, RewardFacts]:
    """Return the facts of each kind of reward."""
    return plugins.facts("training.rewards")


def score_tables() -> Mapping[str, MetricFacts]:
    """Return the facts of each table of scores of captions, by name, in the order in which tables show metrics."""
    found: Mapping[str, MetricFacts] = plugins.facts("evaluation.metrics")
    return dict(sorted(found.items(), key=lambda item: item[1].place))


def asked_tables(config: Mapping[str, Any], evaluation: Mapping[str, Any]) -> dict[str, MetricFacts]:
    """Return the facts of each table of scores that an evaluation of a config asks for, by name.

    If no corpus of the evaluation has captions, tables that compare with references are left out. If none has captions
    in English, tables for English are left out.
    """
    off = ("off", False)  # YAML reads a bare off as false
    tables = {name: table for name, table in score_tables().items() if config.get(table.switch) not in off}
    if not any(has_captions(config["corpora"][corpus]) for corpus in evaluation["corpora"]):
        tables = {name: table for name, table in tables.items() if not table.references}
    if len(other_tokenizers(config["corpora"], evaluation["corpora"])) == len(evaluation["corpora"]):
        tables = {name: table for name, table in tables.items() if not table.english}
    return {name: t for name, t in tables.items() if not t.asks or any(evaluation.get(key) for key in t.asks)}


def rewards_in(reward: Mapping[str, Any], where: str = "reward") -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield a reward and the rewards that it is made of, each with its place in the config."""
    yield where, reward
    for number, part in enumerate(reward["of"] if rewards()[reward["kind"]].of else []):
        if "reward" in part:  # beside its weight
            yield from rewards_in(part["reward"], f"{where}.of.{number}.reward")
        else:
            yield from rewards_in(part, f"{where}.of.{number}")
