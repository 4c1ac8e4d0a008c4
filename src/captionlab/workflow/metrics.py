"""Tables of scores that a metric's module makes alone (captionlab.evaluation.metrics): what the job of each reads."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from captionlab import paths
from captionlab.config.metrics import MetricFacts
from captionlab.plugins import work_module
from captionlab.workflow.basis import Basis, Loaded, Wildcards, memory
from captionlab.workflow.blocks import Block, captioner_kind, normalise
from captionlab.workflow.embedding import Embedding
from captionlab.workflow.families import asked_tables, score_tables

# So many times its size a job holds of a table; captions in training become objects of Python, three times.
HELD = {"features": 2.5, "training_captions": 20.0, "training_images": 4.0}


@dataclass(frozen=True)
class Job:
    """The job that makes one such table of the captions of a captioner for an evaluation."""

    table: str
    inputs: Block
    params: Block
    declared: MetricFacts
    mem_mb: Any


class Metrics:
    """The metrics of a config that need no rule of their own."""

    def __init__(self, basis: Basis, embedding: Embedding):
        self.basis, self.embedding = basis, embedding

    def jobs(self) -> Iterator[Job]:
        """One for each such table, for every captioner and evaluation."""
        for table, declared in score_tables().items():
            if declared.reads:
                inputs = self._inputs(declared)
                held = memory(declared.mem_mb, None, **{name: times for name, times in HELD.items() if name in inputs})
                yield Job(table, inputs, self._params(table, declared), declared, held)

    def asked_by(self, evaluation: str) -> list[str]:
        """Names of those tables that an evaluation asks for."""
        asked = asked_tables(self.basis.config, self.basis.evaluations[evaluation])
        return [table for table, declared in asked.items() if declared.reads]

    def _inputs(self, declared: MetricFacts) -> Block:
        def encoders(wildcards: Wildcards) -> list[str]:
            return list(dict.fromkeys(name for names in self._encoders(declared, wildcards).values() for name in names))

        every: Mapping[str, Block] = {
            "tokens": {"tokens": paths.evaluation("tokens")},
            "references": {"references": self._of_corpora(paths.references)},
            "texts": {f"{name}_of_corpora": self._of_corpora(paths.corpus, name) for name in ("images", "captions")},
            "objects": {"objects": self._of_corpora(paths.corpus, "objects")},
            "training": {f"training_{table}": self._of_training(table) for table in ("images", "captions")},
            "tags": {"tags": paths.language("tags")},
            "reference_tags": {"reference_tags": self._of_corpora(paths.tagged_references)},
            "categories": {"categories": self._categories},
            "encoders": {
                "configs": self.embedding.file_of(encoders, "config.json"),
                "weights": self.embedding.file_of(encoders, "model.safetensors"),
                "features": lambda wildcards: [
                    path
                    for encoder in encoders(wildcards)
                    for corpus in self._corpora(wildcards)
                    for path in self.embedding.features(encoder, corpus)
                ],
            },
        }
        found = {"captions": paths.captions()}
        for part in declared.reads:
            found |= every[part]
        return found

    def _params(self, table: str, declared: MetricFacts) -> Block:
        def used(wildcards: Wildcards) -> Loaded:
            names = self._encoders(declared, wildcards).values() if "encoders" in declared.reads else ()
            return {
                work_module("evaluation.metrics", table): declared.libraries,
                **self.embedding.loaded(name for of_key in names for name in of_key),
            }

        return {
            **self.basis.software("score_captions", loads=used),
            "module": work_module("evaluation.metrics", table),
            "corpora": self._corpora,
            "people": lambda wildcards: self.basis.family(wildcards.captioner) == "human",
            "splits": lambda wildcards: [self.basis.evaluation_split(one) for one in self._corpora(wildcards)],
            "references_per_image": self.basis.value("evaluation", "references_per_image"),
            "settings": lambda wildcards: normalise(
                {key: self.basis.block_of("evaluation", wildcards).get(key) for key in declared.asks}
            ),
        }

    def _corpora(self, wildcards: Wildcards) -> list[str]:
        """Those of an evaluation, in the order of the config."""
        return list(self.basis.evaluations[wildcards.evaluation]["corpora"])

    def _of_corpora(self, found: Any, *first: str) -> Any:
        """A table of each of them."""
        return lambda wildcards: [found(*first, corpus) for corpus in self._corpora(wildcards)]

    def _of_training(self, table: str) -> Any:
        """A table of each corpus that a captioner and its ancestors learnt from; none where one came from elsewhere."""

        def found(wildcards: Wildcards) -> list[str]:
            line = [self.basis.captioners[wildcards.captioner]]
            while "parent" in line[-1]:
                line.append(self.basis.captioners[line[-1]["parent"]])
            if captioner_kind(line[-1]) != "pretrained":
                return []
            return [paths.corpus(table, one) for one in dict.fromkeys(b["corpus"] for b in line if "corpus" in b)]

        return found

    def missing_categories(self) -> Iterator[str]:
        """A sentence for each list of categories that an evaluation names and that is not there."""
        for name, evaluation in self.basis.evaluations.items():
            if (given := evaluation.get("objects")) and given not in paths.CATEGORIES:
                section = "judgements" if name in self.basis.config["judgements"] else "evaluations"
                for said in self.basis.missing([(f"{section}.{name}.objects", given)]):
                    yield f"{said}; the lists that come with captionlab are {' and '.join(paths.CATEGORIES)}"

    def taken_categories(self) -> Iterator[str]:
        """A sentence for each list that comes with captionlab and has the name of a file of the data."""
        asked = {evaluation.get("objects") for evaluation in self.basis.evaluations.values()}
        for name in sorted(asked & paths.CATEGORIES.keys()):
            if (path := Path(self.basis.data) / name).exists():
                yield f"{path}: `objects: {name}` is the list that comes with captionlab; rename this file, or move it"

    def _categories(self, wildcards: Wildcards) -> str:
        """The list of categories of an evaluation: one that comes with the workflow, or a file below the data."""
        name = self.basis.evaluations[wildcards.evaluation]["objects"]
        shipped = paths.CATEGORIES.get(name)
        return self.basis.shipped(shipped) if shipped else self.basis.given(name)

    def _encoders(self, declared: MetricFacts, wildcards: Wildcards) -> dict[str, list[str]]:
        """By key of the evaluation the encoders that it names there."""
        block = self.basis.evaluations[wildcards.evaluation]
        return {key: list(block.get(key, [])) for key in declared.asks}
