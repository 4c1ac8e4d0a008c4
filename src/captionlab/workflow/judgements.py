"""Captions that people judged: sets of a config as captioners, corpora and evaluations, and what their jobs read.

Each set is spelled out as a captioner that gives its candidates, a corpus that has the judged images alone, and an
evaluation of the one on the other, all by the name of the set. So every metric of an evaluation can be had of them.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from captionlab import paths
from captionlab.judgements import JUDGED, POOL
from captionlab.workflow.basis import Basis, Loaded, Wildcards, loaded
from captionlab.workflow.blocks import Block, any_of, normalise, without
from captionlab.workflow.commands import COMMAND, SECTION
from captionlab.workflow.families import asked_tables, judgement_readers, score_tables
from captionlab.workflow.scoring import Scoring

# Sections in which a set has a block of its own.
SECTIONS = ("corpora", "captioners", "evaluations")


def judgement_mistakes(config: Block) -> Iterator[str]:
    """One sentence for each set whose name is taken."""
    for name in config["judgements"]:
        for section in (section for section in SECTIONS if name in config[section]):
            yield f"judgements.{name} is to be one of the {section}, which have a {name!r} already; rename one of them"


def with_judgements(config: Block) -> Block:
    """A config that was checked, and beside it what each set stands for."""
    metrics = [key for table in score_tables().values() for key in table.asks]
    whole = {**config, **{section: dict(config[section]) for section in (*SECTIONS, "regions", "tags")}}
    for name, block in config["judgements"].items():
        corpus = config["corpora"][block["corpus"]]
        whole["corpora"][name] = {"reader": JUDGED, "evaluation_split": JUDGED, "shards": corpus["shards"]}
        whole["captioners"][name] = {"family": JUDGED}
        asked = {key: block[key] for key in metrics if key in block}
        whole["evaluations"][name] = {**asked, "captioners": [name], "corpora": [name], "retrievers": [], "shards": 1}
        for section in ("regions", "tags"):
            whole[section] |= {
                source: {**of, "files": {**of["files"], name: of["files"][block["corpus"]]}}
                for source, of in whole[section].items()
                if block["corpus"] in of.get("files", {})
            }
    return whole


class Judgements:
    """The sets of judgements of a config."""

    def __init__(self, basis: Basis, scoring: Scoring):
        self.basis, self.scoring = basis, scoring
        self.sets: Block = basis.config["judgements"]

    def any(self) -> str:
        """Regular expression of their names."""
        return any_of(self.sets)

    def any_pooled(self) -> str:
        """Return a regular expression of the name of a set, or of several names, joined, of sets that are pooled."""
        return rf"(?:{self.any()})(?:{re.escape(POOL)}(?:{self.any()}))*"

    def pooled(self, table: str) -> Callable[[Wildcards], list[str]]:
        """Return an input function that gives a table of each set that is pooled."""
        return lambda wildcards: [paths.judgements(table, name) for name in wildcards.judgements.split(POOL)]

    def simulated(self, name: str) -> bool:
        """Whether nobody judged the captions of a set."""
        return judgement_readers()[self.sets[name]["reader"]].simulated

    def simulated_sets(self) -> list[str]:
        """Return the names of the sets whose captions nobody judged."""
        return [name for name in self.sets if self.simulated(name)]

    def correlations(self) -> list[str]:
        """Return the table of how metrics agree with each set."""
        return [paths.judgements("correlations", name) for name in self.sets]

    def missing(self) -> Iterator[str]:
        """A sentence for each file of theirs that is not there."""
        keys = {key for reader in judgement_readers().values() for key in reader.files}
        yield from self.basis.missing(self.basis.named("judgements", *sorted(keys)))

    def scored(self, wildcards: Wildcards) -> dict[str, list[str]]:
        """Tables of scores of the candidates of pooled sets, by name: all that their blocks ask for.

        Each set has one file of a table, or one for each command.
        """
        found: dict[str, list[str]] = {}
        for name in wildcards.judgements.split(POOL):
            evaluation = self.basis.evaluations[name]
            commands = [f"{COMMAND}-{metric}" for metric in evaluation[SECTION]]
            for table in asked_tables(self.basis.config, evaluation):
                files = commands if table == COMMAND else [table]
                found.setdefault(table, []).extend(paths.scores(file, name, name) for file in files)
        return found

    def metrics(self, wildcards: Wildcards) -> Loaded:
        """The modules that say what these tables have of single captions; no library is theirs alone."""
        return {f"captionlab.evaluation.metrics.{table}": [] for table in self.scored(wildcards)}

    def factors(self, wildcards: Wildcards) -> dict[str, float]:
        """For each scorer of pooled sets the factor that puts its scores into per cent."""
        factors, sets = self.scoring.factors(), wildcards.judgements.split(POOL)
        scorers = {scorer for name in sets for scorer in self.basis.evaluations[name]["scorers"]}
        return {name: factors[name] for name in sorted(scorers)}

    def pairs(self, wildcards: Wildcards, input: Mapping[str, Any]) -> int:
        """Bytes of what correlations hold of every two images that were rated: up to three numbers of 8 bytes."""
        import pyarrow.compute as pc
        import pyarrow.parquet as pq

        columns = (pq.read_table(file, columns=["image_id"])["image_id"] for file in input["ratings"])
        return 24 * sum(int(pc.count_distinct(images).as_py()) for images in columns) ** 2

    def candidates(self, wildcards: Wildcards) -> list[str]:
        """Return the table of the judged captions of an evaluation that is a set; nothing for another evaluation."""
        return [paths.judgements("candidates", name) for name in self.sets if name == wildcards.evaluation]

    # ------------------------------------------------------------------------------------ what reads a set
    def files(self, wildcards: Wildcards) -> list[str]:
        """The published files of a set; none where judgements are simulated."""
        block = self.sets[wildcards.judgements]
        return [self.basis.given(block[key]) for key in judgement_readers()[block["reader"]].files if key in block]

    def table(self, table: str) -> Callable[[Wildcards], str]:
        """A table of the corpus whose images were judged."""
        return lambda wildcards: paths.corpus(table, self.sets[wildcards.judgements]["corpus"])

    def reader(self, wildcards: Wildcards) -> Loaded:
        """What a script loads that reads a set."""
        return loaded("judgements.readers", [self.sets[wildcards.judgements]["reader"]])

    def block(self, wildcards: Wildcards) -> Block:
        """What reading a set depends on: not who scores it."""
        block, evaluation = self.sets[wildcards.judgements], self.basis.evaluations[wildcards.judgements]
        return normalise(without(block, "corpus", *evaluation))
