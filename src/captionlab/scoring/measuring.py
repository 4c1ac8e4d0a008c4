"""Values of metrics, by the functions of the workflow, from captions and references in memory."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa

from captionlab.config.languages import PTB, Tokenizer, is_english
from captionlab.evaluation.inputs import MetricInputs
from captionlab.evaluation.metrics.nlg import metric as nlg
from captionlab.evaluation.summary import Job, Result, caption_results
from captionlab.plugins import work_module
from captionlab.scoring.matching import Key
from captionlab.storage.tables import TableSchema, TableWriter

# Metrics of captionlab.evaluation.metrics.nlg by their names here.
NLG: Mapping[str, nlg.Scored] = {"bleu": nlg.BLEU, "meteor": nlg.METEOR, "rouge-l": nlg.ROUGE, "cider": nlg.CIDER}
# Metrics with a table of their own, and what they read beside captions and references.
TABLES = ("spice", "sacrebleu", "chrf", "diversity", "clipscore", "chair")
METRICS = (*NLG, *TABLES)
DEFAULT = tuple(NLG)
# The tables whose metrics read captions as they were written, and need no tokeniser.
WRITTEN = ("sacrebleu", "chrf", "clipscore", "chair")
# Metrics for captions in English alone.
ENGLISH_ALONE = ("meteor", "spice", "chair")
# Names of the one corpus and the one evaluation.
CORPUS = "files"
EVALUATION = "files"


@dataclass(frozen=True)
class Material:
    """The captions of a captioner and the references of their images, as written and as tokens joined by spaces."""

    captioner: str
    captions: Mapping[Key, str]
    tokens: Mapping[Key, str]
    written: Mapping[str, Sequence[str]]
    """references as written, by image"""
    references: Mapping[str, Sequence[str]]
    """references as tokens, by image"""
    tokenizer: Tokenizer
    language: str

    @property
    def job(self) -> Job:
        """Return the captioner's place in results."""
        return Job(self.captioner, EVALUATION, "given", {CORPUS: "given"})

    def rows(self) -> list[dict[str, Any]]:
        """Return the captions as rows of captionlab.storage.schemas.GENERATED."""
        return [
            {"corpus": CORPUS, "image_id": image, "caption_index": index, "caption": text}
            for (image, index), text in self.captions.items()
        ]


class InMemory(MetricInputs):
    """The inputs of a metric from captions and references in memory, and tables that the metric reads besides."""

    def __init__(self, material: Material, settings: Mapping[str, Any], inputs: Mapping[str, Any] | None = None):
        tokenizers = {} if material.tokenizer == PTB else {CORPUS: material.tokenizer}
        params = {"settings": settings, "corpora": [CORPUS], "people": False, "tokenizers": tokenizers}
        params["languages"] = {} if is_english(material.language) else {CORPUS: material.language}
        super().__init__(inputs or {}, params)
        self.captions = {CORPUS: material.rows()}
        self.tokens = {CORPUS: dict(material.tokens)}
        self.references = {CORPUS: {image: [*texts] for image, texts in material.references.items()}}
        self.texts = {CORPUS: {image: [*texts] for image, texts in material.written.items()}}
        self.training = []


def nlg_results(
    materials: Sequence[Material], names: Sequence[str], meteor: nlg.Meteor | None, seed: int
) -> Iterator[Result]:
    """Yield BLEU, METEOR, ROUGE-L and CIDEr of each captioner, as far as `names` has them (NLG)."""
    wanted = [scored for name, scored in NLG.items() if name in names]
    metrics = {
        name: metric for name, metric in nlg.METRICS.items() if any(metric.column in one.columns for one in wanted)
    }
    columns = dict.fromkeys(metric.column for metric in metrics.values())
    for one in materials:
        scores = nlg.score_corpus(one.captioner, CORPUS, one.tokens, one.references, meteor, scored=wanted)
        kept = {name: scores[name] for name in ("corpus", "image_id", *columns)}
        schema = pa.schema([nlg.NLG.schema.field(name) for name in kept])
        yield from caption_results(one.job, pa.table(kept, schema), seed, metrics)


def table_results(material: Material, table: str, seed: int, inputs: MetricInputs) -> Iterator[Result]:
    """Yield the metrics of a table of scores, whose metric has a function `score` (captionlab.evaluation.metrics)."""
    metric = import_module(work_module("evaluation.metrics", table))
    yield from scores_of(material, metric, metric.SCORES, metric.score(inputs), seed)


def scores_of(
    material: Material, metric: Any, schema: TableSchema, parts: Iterable[Mapping[str, Any]], seed: int
) -> Iterator[Result]:
    """Yield the results that the module of a metric computes from its table of scores, which `parts` make."""
    with TemporaryDirectory(prefix="captionlab-") as folder:
        path = str(Path(folder, "scores.parquet"))
        with TableWriter(path, schema) as writer:
            for columns in parts:
                writer.write(columns)
        yield from metric.results(material.job, path, seed)
