"""What rules share: software of jobs, memory, files that a config names, and tables that models read.

Rules call these functions with names of blocks. Input functions stand in the rules (workflow/rules/).
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

from captionlab.config.metrics import MetricFacts
from captionlab.corpora.inputs import input_files
from captionlab.plugins import facts
from captionlab.workflow import basis
from captionlab.workflow.basis import Loaded, Wildcards, memory, on_disk
from captionlab.workflow.blocks import (
    Block,
    normalise,
    root_of,
    without,
)
from captionlab.workflow.experiments import Experiments
from captionlab.workflow.families import asked_tables, score_tables

# Parts of the block of a captioner that its inputs or other parameters stand for.
_READ = ("corpus", "parent", "seed", "encoder", "regions", "tags", "run", "config")


class Tagger(NamedTuple):
    """The spaCy model that tags captions: its files, if the workflow has them, and its installed libraries."""

    name: str
    files: list[str]
    libraries: list[str]


class Command(NamedTuple):
    """The words of a command that are files, these files, and the file of its environment, if it has one."""

    words: list[str]
    files: list[str]
    environment: list[str]


class Graph:
    """Functions of a config that rules share."""

    memory = staticmethod(memory)

    def __init__(self, lab: Experiments):
        self._lab = lab
        self.tagger = Tagger(lab.language.tagger, lab.language.tagger_files(), lab.language.tagger_libraries())

    # ------------------------------------------------------------------------------------- software and files
    def software(
        self, script: str, *libraries: str, loads: Callable[[Wildcards], Loaded] | Loaded | None = None
    ) -> Block:
        """Return the parameters `code`, a fingerprint of all code that a script reaches, and `versions` of libraries.

        `loads` are the modules that the script loads by name, each with its libraries, or a function of the wildcards.
        """
        return self._lab.software(script, *libraries, loads=loads)

    def names_of(self, section: str, *kinds: str) -> str:
        """Return a regular expression of the names in a section whose blocks are of one of these kinds."""
        return self._lab.of_kind(section, *kinds)

    def files_of(self, section: str, name: str, *keys: str, corpus: str | None = None) -> list[str]:
        """Return the files and folders that a block names under these keys; of files by corpus those of one corpus."""
        block = self._lab.config[section][name]
        named = [block[key] for key in keys if key in block]
        chosen = [files.get(corpus, []) if isinstance(files, dict) else files for files in named]
        return [self._lab.given(path) for files in chosen for path in basis.listed(files)]

    def block(self, section: str, name: str = "", *others: str, only: Sequence[str] = ()) -> Block:
        """Return the part of a section or block that a job depends on: the keys in `only`, or all keys but `others`.

        Other inputs or parameters of the job stand for the other keys.
        """
        whole: Block = self._lab.config[section]
        block: Block = whole.get(name, {}) if name else whole
        kept = {key: value for key, value in block.items() if key in only} if only else without(block, *others)
        return dict(normalise(kept))

    def given(self, path: str) -> str:
        """Return a file that the config names; a job waits until it is fetched, if it is missing and may be fetched."""
        return self._lab.given(path)

    def facts(self, package: str, name: str = "") -> Any:
        """Return the facts of a plug-in, or of all plug-ins of a package, by name."""
        return facts(package)[name] if name else facts(package)

    def input_files(self, corpus: str) -> list[Path]:
        """Return the files and folders that the reader of a corpus reads before it starts; images are none of them."""
        self._lab.wait_for(self._lab.corpus_paths(corpus))
        return input_files(self._lab.corpora[corpus], Path(self._lab.data))

    # ------------------------------------------------------------------------------------- what models read
    def features_of(self, encoder: str, corpus: str) -> list[str]:
        """Return the tables of a corpus with the output of an encoder."""
        return self._lab.embedding.features(encoder, corpus)

    def scorer_files(self, scorer: str) -> list[str]:
        """Return the files of a scorer."""
        return self._lab.scoring.folder(scorer)

    def images_for(self, section: str, name: str, corpus: str) -> list[str]:
        """Return the tables of a corpus that a captioner or scorer reads, or the tables with regions."""
        tables = {
            "captioners": self._lab.regions.captioner_tables,
            "scorers": self._lab.scoring.features,
            "regions": self._lab.regions.tables,
        }
        return tables[section](name, corpus)

    def ancestor_files(self, captioner: str) -> list[str]:
        """Return the files of the captioners without which a captioner is not read, because it is adapters."""
        return self._lab.ancestor_files(captioner)

    def root_of(self, captioner: str) -> Any:
        """Return the block of the captioner at the top of a line of parents."""
        return self._lab.settings.captioners[root_of(self._lab.config, captioner)]

    def is_learned_from(self, encoder: str, corpus: str) -> bool:
        """Return whether anything learns from the embeddings of a corpus, or scenes are analysed by them."""
        return (encoder, corpus) in self._lab._wholly_embedded

    # ------------------------------------------------------------------------------------------- evaluations
    def scored_by(self, table: str) -> set[tuple[str, str]]:
        """Return each captioner and evaluation that has scores in the table of a metric."""
        return {*self._lab.scored_places(table)}

    def score_factors(self) -> dict[str, float]:
        """Return the factor of the scores of each scorer and command in tables."""
        return self._lab.score_factors()

    def metrics(self, evaluation: str | None = None) -> Mapping[str, MetricFacts]:
        """Return the facts of the metrics that an evaluation asks for, or of all metrics, by the name of the table."""
        if evaluation is None:
            return score_tables()
        return asked_tables(self._lab.config, self._lab.evaluations[evaluation])

    def score_tables(self, judgements: str | None = None) -> dict[str, list[str]]:
        """Return the tables of scores of all evaluations, or of a set of judgements, by the name of the metric."""
        if judgements is None:
            return self._lab.score_tables()
        return self._lab.judgements.scored(SimpleNamespace(judgements=judgements))

    def provenance(self) -> Block:
        """Return what the footer of every table says of the run."""
        return self._lab.provenance()

    def lineage(self) -> Block:
        """Return the parent, family, rewarding retriever and corpora of each captioner and its ancestors."""
        return self._lab.lineage()

    def rewards(self, captioner: str) -> list[Any]:
        """Return the reward of a captioner and the rewards that it is made of; none if there is no reward."""
        return self._lab.rewards(captioner)

    def rewarded_trainings(self) -> Block:
        """Return the parent, the corpus and the reward in words of each captioner that is finetuned by a reward."""
        return self._lab.validity.trainings()

    def learned_by(self) -> dict[str, str]:
        """Return the corpus of each captioner that learned references, here or in another run."""
        return self._lab.validity.learned()

    def examined_scorers(self) -> dict[str, str]:
        """Return the table that says how good each scorer is, if there is one."""
        return self._lab.validity.matching()

    # ------------------------------------------------------------------------------------------- reporting
    def used(self, section: str) -> list[str]:
        """Return the blocks of a section that jobs of the run ask for."""
        return self._lab.documenting.used(section)

    def described_models(self, trained: bool = False) -> list[Block]:
        """Return what the config says of each model that has weights, or of those that are trained here."""
        documenting = self._lab.documenting
        return documenting.described_trained() if trained else documenting.described_models()

    def described_corpora(self) -> Block:
        """Return for each corpus its reader, whether it is of the toy world, and the sources of its files."""
        return self._lab.documenting.described_corpora()

    def fetched(self) -> list[Block]:
        """Return what the rule `retrieve` fetches."""
        return self._lab.fetched()

    def command(self, metric: str) -> Command:
        """Return the files of a command that computes a metric."""
        job = SimpleNamespace(metric=metric)
        commands = self._lab.commands
        return Command(commands.words(job), commands.files(job), commands.environment(job))

    # --------------------------------------------------------------------------------------------- trainings
    def training(self, captioner: str) -> Block:
        """Return what the training or import of a captioner depends on, with its decodings spelled out."""
        return self._lab.captioner_block(SimpleNamespace(captioner=captioner))

    def reward_models(self, captioner: str) -> Block:
        """Return the retrievers and scorers that the reward of a captioner asks.

        By `encoders/<name>` or `scorers/<name>` each has its `directory`, the `features` of the training corpus that it
        reads, and `neighbours`, the table of hard negatives, if its reward has some.
        """
        return self._lab.reward_models.asked(SimpleNamespace(captioner=captioner))

    # ----------------------------------------------------------------------------- modules that scripts load
    def modules(self, package: str, *names: str, definition: str = "") -> Loaded:
        """Return the modules that a script loads by name, each with its libraries.

        `names` are captioners, encoders or scorers of the config, or plug-ins of another package. If there is a
        `definition`, only this definition of each module counts, and what it reaches.
        """
        if definition:
            return basis.loaded(package, (self._lab.config[package][name]["family"] for name in names), definition)
        if package == "captioners":
            return self._lab.loaded_captioners(*names)
        used = {"encoders": self._lab.embedding.loaded, "scorers": self._lab.scoring.loaded}
        return used[package](names) if package in used else basis.loaded(package, names)

    def training_modules(self, captioner: str) -> Loaded:
        """Return the modules that a training loads: family, objective, rewards, and the models that rewards ask."""
        return self._lab.reward_models.used(SimpleNamespace(captioner=captioner))


def rows_of(table: str) -> int:
    """Return the number of rows of a Parquet file."""
    import pyarrow.parquet as pq

    return int(pq.read_metadata(table).num_rows)


def distinct(table: str, column: str) -> int:
    """Return the number of different values in a column of a Parquet file."""
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    return int(pc.count_distinct(pq.read_table(table, columns=[column])[column]).as_py())


def own(path: str | Path) -> str:
    """Return a file that no job makes, as an input."""
    return on_disk(path)
