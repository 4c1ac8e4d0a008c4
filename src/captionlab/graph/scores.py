"""Scores of captions: which captioners have them in which evaluations, by metrics, commands and judges."""

import math
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from captionlab.config.blocks import JUDGED, Block, has_captions, model_kind, root_of
from captionlab.config.families import asked_tables, score_tables
from captionlab.config.languages import (
    Tokenizer,
    base_language,
    language_of,
    other_tokenizers,
    others,
    tokenizer_of,
)
from captionlab.config.metrics import MetricFacts
from captionlab.graph.trainings import Trainings
from captionlab.storage import paths

# The section of the config of each metric whose tables are made by the blocks of a section, a table for each block.
SECTIONS = {"command": "metrics", "judge": "judges"}
# Printed are per cent; a scorer with at least this scale gives per cent already.
PER_CENT = 100.0


class Command(NamedTuple):
    """The words of a command that are files, these files, and the file of its environment, if it has one."""

    words: list[str]
    files: list[str]
    environment: list[str]


class Scores(Trainings):
    """The scores of captions of a config."""

    def metrics(self, evaluation: str | None = None) -> Mapping[str, MetricFacts]:
        """Return the facts of the metrics that an evaluation asks for, or of all metrics, by the name of the table."""
        return (
            score_tables() if evaluation is None else asked_tables(self.config, self.config["evaluations"][evaluation])
        )

    def scored_by(self, table: str) -> set[tuple[str, str]]:
        """Return each captioner and evaluation that has scores in the table of a metric."""
        references = score_tables()[table].references
        return {
            (captioner, evaluation)
            for evaluation in self.config["evaluations"]
            if table in self.metrics(evaluation)
            for captioner in self._scored_captioners(evaluation, references)
        }

    def score_tables(self, judgements: str | None = None) -> dict[str, list[str]]:
        """Return the tables of scores of all evaluations, or of a set of judgements, by the name of the metric."""
        if judgements is not None:
            return self._judged_tables(judgements)
        found = {table: self._tables(table) for table in score_tables()}
        return {table: files for table, files in found.items() if files}

    def _tables(self, table: str) -> list[str]:
        if table in SECTIONS:
            return self._tables_of_blocks(table)
        places = sorted(self.scored_by(table), key=lambda place: place[::-1])
        return list(dict.fromkeys(paths.scores(table, *place) for place in places))

    def _judged_tables(self, judgements: str) -> dict[str, list[str]]:
        asked = self.config["evaluations"][judgements]
        files = {
            table: [f"{table}-{block}" for block in asked[SECTIONS[table]]] if table in SECTIONS else [table]
            for table in self.metrics(judgements)
        }
        return {table: [paths.scores(file, judgements, judgements) for file in files[table]] for table in files}

    def _tables_of_blocks(self, table: str) -> list[str]:
        """Return a table for each command or judge, evaluation and captioner."""
        return [
            paths.evaluation(f"{table}-{block}", captioner, name)
            for name, evaluation in sorted(self.config["evaluations"].items())
            for block in sorted(evaluation[SECTIONS[table]])
            if not self._reads_references(table, block) or self._is_described(evaluation)
            for captioner in self._scored_captioners(name, self._reads_references(table, block))
        ]

    def _reads_references(self, table: str, block: str) -> bool:
        """Return whether a command or a judge reads references."""
        if table == "judge":
            return bool(self.settings.judges[block].reads_references)
        return bool(self.settings.metrics[block].references)

    def _is_described(self, evaluation: Block) -> bool:
        """Return whether images of an evaluation have captions to compare others with."""
        return any(has_captions(self.config["corpora"][corpus]) for corpus in evaluation["corpora"])

    def _scored_captioners(self, evaluation: str, references: bool) -> list[str]:
        """Return the captioners of an evaluation whose captions have scores, by a metric with or without references.

        References themselves have no scores by a metric with references. Constructed and judged captions are studied
        for what they are, and not as the captions of one captioner.
        """
        without = {"constructed", JUDGED, *(["human"] if references else [])}
        names = sorted(self.config["evaluations"][evaluation]["captioners"])
        captioners = self.config["captioners"]
        return [name for name in names if captioners[root_of(self.config, name)]["family"] not in without]

    def languages(self, *corpora: str) -> dict[str, str]:
        """Return the languages of those corpora whose captions are not in English, by name."""
        return others(self.config["corpora"], corpora)

    def tokens_of(self, corpus: str) -> tuple[str, Tokenizer]:
        """Return the language of the captions of a corpus, and their tokeniser."""
        block = self.config["corpora"][corpus]
        return base_language(language_of(block)), tokenizer_of(block)

    def tokenizers(self, *corpora: str) -> dict[str, Tokenizer]:
        """Return the tokenisers of those corpora whose tokeniser is not the Penn treebank tokeniser, by name."""
        return other_tokenizers(self.config["corpora"], corpora)

    def score_factors(self) -> dict[str, float]:
        """Return the factor of the scores of each scorer, command and judge in tables."""
        # A probability and a cosine become per cent; by the default of CLIP's family they are per cent already. The
        # logarithm of a probability stays in nats.
        scorers = {
            name: 1.0 if block["scale"] >= PER_CENT or _is_logarithm(block) else PER_CENT
            for name, block in sorted(self.config["scorers"].items())
        }
        commands = {f"metrics.{name}": float(metric.scale) for name, metric in self.settings.metrics.items()}
        return scorers | commands | {f"judges.{name}": judge.factor for name, judge in self.settings.judges.items()}

    def score_bounds(self) -> dict[str, tuple[float, float]]:
        """Return the bounds of the scores of each scorer and judge in tables.

        A cosine may be negative, a probability not. The logarithm of a probability is at most 0.
        """
        bounds = {}
        for name, block in self.config["scorers"].items():
            if _is_logarithm(block):
                bounds[name] = (-math.inf, 0.0)
                continue
            highest = self.score_factors()[name] * block["scale"]
            signed = model_kind(block) == "encoder" and not block["clamp"]
            bounds[name] = (-highest if signed else 0.0, highest)
        for name, judge in self.settings.judges.items():
            low, high = judge.range
            bounds[f"judges.{name}"] = (judge.factor * low, judge.factor * high)
        return dict(sorted(bounds.items()))

    def score_thresholds(self) -> dict[str, float]:
        """Return the score in tables of the probability 1/2, of each scorer whose scores are probabilities of a match.

        A cosine, the logarithm of a probability and the output of a head that was fine-tuned to rank are none.
        """
        bounds = self.score_bounds()
        return {
            name: bounds[name][1] / 2
            for name, block in sorted(self.config["scorers"].items())
            if not _is_logarithm(block) and model_kind(block) != "encoder" and block.get("head") != "retrieval"
        }

    def command(self, metric: str) -> Command:
        """Return the files of a command that computes a metric, below the folder of data or by their absolute paths."""
        block = self.config["metrics"][metric]
        words = [word for word in shlex.split(block["command"]) if (Path(self.settings.data) / word).is_file()]
        words = list(dict.fromkeys(words))
        environment = [self.given(path) for path in environments(block)]
        return Command(words, [self.given(word) for word in words], environment)


def _is_logarithm(scorer: Block) -> bool:
    """Return whether the scores of a scorer are logarithms of probabilities."""
    return bool(scorer.get("score") == "likelihood")


def environments(metric: Block) -> list[str]:
    """Return the file that describes the environment of a command; none if the command runs in captionlab's own."""
    conda = [metric["conda"]] if "conda" in metric else []
    return [*conda, *([f"{metric['venv']}/pyvenv.cfg"] if "venv" in metric else [])]
