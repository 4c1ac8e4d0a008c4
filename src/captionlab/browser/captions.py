"""What captioners said, and every score that a single caption has, as columns that are in step with each other."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow.compute as pc

from captionlab import paths
from captionlab.evaluation.metrics.retrieval.metric import among
from captionlab.evaluation.summary import of_captions, parts, scored_in
from captionlab.evaluation.unknown_words import has_unknown, non_words
from captionlab.schemas import GENERATED, RETRIEVAL
from captionlab.tables import read_table
from captionlab.texts.unknown import UNKNOWN

# A caption: its image, and its index among the captions of that image.
Key = tuple[str, int]
# What the rank of a right image is called among metrics.
RANK = "rank"
# Decimals of printed values that the page has.
DECIMALS = 3


@dataclass(frozen=True)
class Measure:
    """A metric that single captions have: by whom, and among which images, where that matters."""

    metric: str
    by: str | None = None
    among: str | None = None


@dataclass
class Said:
    """The captions of a captioner on a corpus: text, and by measure what each is worth, as printed in tables."""

    texts: dict[Key, str] = field(default_factory=dict)
    values: dict[Measure, dict[Key, float]] = field(default_factory=dict)
    chosen: dict[Measure, dict[Key, str]] = field(default_factory=dict)  # of ranks: the image that was found


# By evaluation, corpus and captioner.
AllSaid = Mapping[tuple[str, str, str], Said]


def read_said(
    captions: Iterable[str], tables: Mapping[str, Iterable[str]], factors: Mapping[str, float]
) -> dict[tuple[str, str, str], Said]:
    """The captions in these files, with what tables of scores, by their names, say of each.

    `factors` put scores of scorers and commands into what is printed.
    """
    found: dict[tuple[str, str, str], Said] = defaultdict(Said)
    for path in captions:
        captioner, evaluation = paths.captioner_of(path)
        for row in read_table(path, GENERATED).to_pylist():
            said = found[evaluation, row["corpus"], captioner]
            said.texts[row["image_id"], row["caption_index"]] = row["caption"]
    for table, files in tables.items():
        for path in files:
            (alone, evaluation), *_ = scored_in(path)
            for captioner, corpus, measure, values, chosen in _scores(table, path, factors, alone):
                said = found[evaluation, corpus, captioner]
                said.values.setdefault(measure, {}).update(values)
                if chosen:
                    said.chosen[measure] = chosen
    return dict(found)


def _scores(
    table: str, path: str, factors: Mapping[str, float], alone: str
) -> Iterable[tuple[str, str, Measure, dict[Key, float], dict[Key, str]]]:
    """By captioner, corpus and measure the values of captions in a table of scores, and the images that they found.

    `alone` is the captioner of a table that has no other.
    """
    if table == "retrieval":
        ranks = read_table(path, RETRIEVAL)
        for (corpus, retriever, protocol), part in parts(ranks, "corpus", "retriever", "protocol"):
            measure = Measure(RANK, retriever, among(protocol, pc.unique(part["candidates"]).to_pylist()))
            keys = [*zip(part["image_id"].to_pylist(), part["caption_index"].to_pylist(), strict=True)]
            chosen = dict(zip(keys, part["chosen"].to_pylist(), strict=True))
            yield alone, corpus, measure, dict(zip(keys, part["rank"].to_pylist(), strict=True)), chosen
        return
    for one in of_captions(table, path, factors):
        by_corpus: dict[str, dict[Key, float]] = defaultdict(dict)
        for (corpus, image, index), value in zip(one.keys, one.values.tolist(), strict=True):
            by_corpus[corpus][image, index] = round(one.scale * value, DECIMALS)
        for corpus, values in by_corpus.items():
            yield one.captioner or alone, corpus, Measure(one.metric, one.scorer), values, {}


def evaluation_columns(
    said: Mapping[str, Said], places: Mapping[str, int], known: Mapping[str, frozenset[str] | None]
) -> dict[str, Any]:
    """What the page shows of an evaluation on a corpus: rows, measures, and of each captioner columns in their step.

    `said`: by captioner. `places`: where each image stands among those of the corpus, which rows are ordered by; a row
    is an image, and one more for each further caption of it. `known`: the words that a captioner was trained on.
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
    said: Said,
    keys: Sequence[Key],
    measures: Sequence[Measure],
    places: Mapping[str, int],
    known: frozenset[str] | None,
) -> dict[str, Any]:
    """The columns of a captioner; numbers in their names are those of measures, and of rows for unknown words."""
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
    }


def unknown_words(caption: str, known: frozenset[str] | None) -> list[str]:
    """UNK where a caption has it, and its words that are not known; None where nobody knows which are."""
    return [*([UNKNOWN] if has_unknown(caption) else []), *(non_words(caption, known) if known is not None else [])]
