"""Captions of captioners and all scores of single captions, as parallel columns."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import pyarrow.compute as pc

from captionlab.evaluation.metrics.retrieval.metric import among
from captionlab.evaluation.summary import of_captions, parts, scored_in
from captionlab.evaluation.unknown_words import has_unknown, non_words
from captionlab.storage import paths
from captionlab.storage.schemas import GENERATED, RETRIEVAL
from captionlab.storage.tables import read_table
from captionlab.texts.unknown import UNKNOWN

# A caption: its image, and its index among the captions of the image.
Key = tuple[str, int]
# Name of the metric for the rank of the right image.
RANK = "rank"
# Decimals of values in the data of the page.
DECIMALS = 3


@dataclass(frozen=True)
class Measure:
    """A metric of single captions, with its scorer or retriever and the searched images, if the metric has these."""

    metric: str
    by: str | None = None
    among: str | None = None


@dataclass
class ScoredCaptions:
    """The captions of a captioner on a corpus: their texts, and by measure their values as printed in tables."""

    texts: dict[Key, str] = field(default_factory=dict)
    values: dict[Measure, dict[Key, float]] = field(default_factory=dict)
    chosen: dict[Measure, Mapping[Key, str]] = field(default_factory=dict)  # the image that was retrieved, for ranks
    notes: dict[Measure, Mapping[Key, str]] = field(default_factory=dict)  # what a scorer says of captions


# By evaluation, corpus and captioner.
AllCaptions = Mapping[tuple[str, str, str], ScoredCaptions]


def read_captions(
    captions: Iterable[str], tables: Mapping[str, Iterable[str]], factors: Mapping[str, float]
) -> dict[tuple[str, str, str], ScoredCaptions]:
    """Return the captions in the files, with their scores in the tables, by evaluation, corpus and captioner.

    `tables` maps names of score tables to files. `factors` convert scores of scorers and commands into printed values.
    """
    found: dict[tuple[str, str, str], ScoredCaptions] = defaultdict(ScoredCaptions)
    for path in captions:
        captioner, evaluation = paths.captioner_of(path)
        for row in read_table(path, GENERATED).to_pylist():
            said = found[evaluation, row["corpus"], captioner]
            said.texts[row["image_id"], row["caption_index"]] = row["caption"]
    for table, files in tables.items():
        for path in files:
            (alone, evaluation), *_ = scored_in(path)
            for scores in _scores(table, path, factors, alone):
                said = found[evaluation, scores.corpus, scores.captioner]
                said.values.setdefault(scores.measure, {}).update(scores.values)
                if scores.chosen:
                    said.chosen[scores.measure] = scores.chosen
                if scores.notes:
                    said.notes[scores.measure] = scores.notes
    return dict(found)


class Scores(NamedTuple):
    """The scores of the captions of a captioner on a corpus by a measure."""

    captioner: str
    corpus: str
    measure: Measure
    values: dict[Key, float]
    chosen: Mapping[Key, str] = {}
    """images that were retrieved, for ranks"""
    notes: Mapping[Key, str] = {}
    """what a scorer says of captions"""


def _scores(table: str, path: str, factors: Mapping[str, float], alone: str) -> Iterable[Scores]:
    """Yield the scores in a table, by captioner, corpus and measure.

    `alone` is the captioner of a table that names none.
    """
    if table == "retrieval":
        ranks = read_table(path, RETRIEVAL)
        for (corpus, retriever, protocol), part in parts(ranks, "corpus", "retriever", "protocol"):
            measure = Measure(RANK, retriever, among(protocol, pc.unique(part["candidates"]).to_pylist()))
            keys = [*zip(part["image_id"].to_pylist(), part["caption_index"].to_pylist(), strict=True)]
            chosen = dict(zip(keys, part["chosen"].to_pylist(), strict=True))
            yield Scores(alone, corpus, measure, dict(zip(keys, part["rank"].to_pylist(), strict=True)), chosen)
        return
    for one in of_captions(table, path, factors):
        by_corpus: dict[str, dict[Key, float]] = defaultdict(dict)
        notes: dict[str, dict[Key, str]] = defaultdict(dict)
        for (corpus, image, index), value in zip(one.keys, one.values.tolist(), strict=True):
            by_corpus[corpus][image, index] = round(one.scale * value, DECIMALS)
        for (corpus, image, index), note in zip(one.keys, one.notes, strict=False):  # most metrics have none
            if note:
                notes[corpus][image, index] = note
        for corpus, values in by_corpus.items():
            yield Scores(one.captioner or alone, corpus, Measure(one.metric, one.scorer), values, notes=notes[corpus])


def evaluation_columns(
    said: Mapping[str, ScoredCaptions], places: Mapping[str, int], known: Mapping[str, frozenset[str] | None]
) -> dict[str, Any]:
    """Return the data of an evaluation on a corpus: rows, measures, and parallel columns of each captioner.

    `said` is by captioner. `places` has the position of each image in the corpus, by which rows are sorted. A row is an
    image with a caption index, so an image has one row per caption. `known` has the words that each captioner was
    trained on, or None.
    """
    keys = sorted({key for one in said.values() for key in one.texts}, key=lambda key: (places[key[0]], key[1]))
    measures = list(dict.fromkeys(measure for one in said.values() for measure in one.values))
    return {
        "image": [places[image] for image, _ in keys],
        "copy": [copy for _, copy in keys],
        "measures": [{"metric": one.metric, "by": one.by, "among": one.among} for one in measures],
        "captioners": [
            _columns(name, one, keys, measures, places, known.get(name)) for name, one in said.items() if one.texts
        ],
    }


def _columns(
    name: str,
    said: ScoredCaptions,
    keys: Sequence[Key],
    measures: Sequence[Measure],
    places: Mapping[str, int],
    known: frozenset[str] | None,
) -> dict[str, Any]:
    """Return the columns of a captioner.

    Keys of `values`, `chosen` and `notes` are numbers of measures. Keys of `unknown`, and in `notes`, are numbers of
    rows.
    """
    texts = [said.texts.get(key) for key in keys]
    unknown = {row: found for row, text in enumerate(texts) if text and (found := unknown_words(text, known))}
    numbered = [(number, measure) for number, measure in enumerate(measures) if measure in said.values]
    return {
        "name": name,
        "text": texts,
        "unknown": unknown,
        "values": {number: [said.values[measure].get(key) for key in keys] for number, measure in numbered},
        "chosen": {
            number: [None if (image := said.chosen[measure].get(key)) is None else places[image] for key in keys]
            for number, measure in numbered
            if measure in said.chosen
        },
        "notes": {
            number: {row: note for row, key in enumerate(keys) if (note := said.notes[measure].get(key))}
            for number, measure in numbered
            if measure in said.notes
        },
    }


def unknown_words(caption: str, known: frozenset[str] | None) -> list[str]:
    """Return UNK if a caption contains it, and the words of the caption that are not in `known`.

    If `known` is None, only UNK is checked.
    """
    return [*([UNKNOWN] if has_unknown(caption) else []), *(non_words(caption, known) if known is not None else [])]
