"""AMBER's measures of captions: objects that captions invent, cover and imagine as people would.

Wang et al. 2023, "AMBER: An LLM-free Multi-dimensional Benchmark for MLLMs Hallucination Evaluation", and the authors'
code (github.com/junyangwang0410/AMBER, inference.py), generative task. The nouns of a caption that AMBER's relations
list are judged; other nouns do not count. docs/fidelity.md says what differs from the authors' code.
"""

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from operator import eq
from typing import Any

import pyarrow as pa

from captionlab.evaluation.inputs import MetricInputs, Row
from captionlab.evaluation.metrics.amber.files import (
    Annotation,
    Relation,
    read_annotations,
    read_relation,
    read_safe_words,
)
from captionlab.evaluation.metrics.chair.metric import share
from captionlab.evaluation.summary import (
    LOWER,
    Job,
    Metric,
    OfCaptions,
    Result,
    caption_results,
    counted_values,
    mean,
)
from captionlab.statistics.intervals import PER_CENT
from captionlab.storage.schemas import CAPTION_KEY
from captionlab.storage.tables import Column, TableSchema, read_table
from captionlab.texts.tagging import NOUNS, TaggerError, load_tagger
from captionlab.userfiles.ids import known_id

# Nouns match if the similarity of their vectors is above this number (the default of the authors' code).
SIMILARITY = 0.8
# Whether two words match.
Match = Callable[[str, str], bool]

_NAMES, _FLAGS, _COUNTS = pa.list_(pa.string()), pa.list_(pa.bool_()), pa.list_(pa.int32(), 2)
SCORES = TableSchema(
    "objects that captions invent and cover, by AMBER",
    "a caption and its nouns that AMBER lists",
    tuple(CAPTION_KEY),
    **CAPTION_KEY,
    nouns=Column(_NAMES, "nouns that AMBER's relations list, in their order"),
    hallucinated=Column(_FLAGS, "whether each noun stands for no object of the image"),
    annotated=Column(_NAMES, "objects of the image"),
    covered=Column(_FLAGS, "whether the caption names each object"),
    expected=Column(_NAMES, "objects that are not in the image and that people would expect there"),
    imagined=Column(_FLAGS, "whether the caption names each expected object"),
    mentions=Column(_COUNTS, "number of nouns, and number of hallucinated nouns"),
    with_hallucination=Column(pa.int32(), "1 if a noun is hallucinated, else 0"),
    cover=Column(_COUNTS, "number of objects of the image, and number of objects that the caption names"),
    cognition=Column(_COUNTS, "number of expected objects, and number of expected objects that the caption names"),
)
METRICS = {
    "AMBER CHAIR": Metric("mentions", share, PER_CENT, share=True, better=LOWER),
    "AMBER Cover": Metric("cover", share, PER_CENT, share=True),
    "AMBER Hal": Metric("with_hallucination", mean, PER_CENT, share=True, better=LOWER),
    "AMBER Cog": Metric("cognition", share, PER_CENT, share=True, better=LOWER),
}

logger = logging.getLogger(__name__)


def score(inputs: MetricInputs) -> Iterator[dict[str, Any]]:
    """Yield the columns of SCORES, corpus by corpus. Captions of images without annotation are left out and logged.

    Raises ValueError if no image of any corpus is annotated.
    """
    relation = read_relation(inputs.inputs["relation"])
    annotations = read_annotations(inputs.inputs["annotations"], relation)
    listed = listed_words(relation)
    allowed = read_safe_words(inputs.inputs.get("safe_words"))
    vectors = inputs.settings["amber"].get("vectors")
    match = similar_words(vectors) if vectors else eq
    scored = False
    for corpus in inputs.corpora:
        rows = inputs.tags[corpus]
        columns: dict[str, list[Any]] = {name: [] for name in SCORES.columns}
        names = {image: known_id(image, annotations) for image in {row["image_id"] for row in rows}}
        if bare := sum(name is None for name in names.values()):
            logger.warning("%s: %d of %d images have no annotation and are left out", corpus, bare, len(names))
        for row in rows:
            if (name := names[row["image_id"]]) is not None:
                values = judged(nouns_of(row, listed), annotations[name], relation, allowed, match)
                for key, value in {**{key: row[key] for key in CAPTION_KEY}, **values}.items():
                    columns[key].append(value)
        if columns["nouns"]:
            scored = True
            yield columns
    if not scored:
        known = ", ".join([*annotations][:3])
        raise ValueError(
            f"no captioned image has an entry in {inputs.inputs['annotations']}, whose ids are like {known}; an image "
            "is found by its id, or by the number in the name AMBER_1: take `amber` out of the evaluation, or name the "
            "file of its corpus"
        )


def listed_words(relation: Relation) -> frozenset[str]:
    """Return all words of AMBER's relations: the objects and their associated words."""
    return frozenset(relation).union(*relation.values())


def nouns_of(row: Row, listed: frozenset[str]) -> list[str]:
    """Return the nouns of a caption, a row of TAGGED, that are among `listed`: their lemmas, or else as written."""
    nouns = [
        next((form for form in (lemma.lower(), word.lower()) if form in listed), None)
        for word, lemma, tag in zip(row["words"], row["lemmas"], row["tags"], strict=True)
        if tag in NOUNS
    ]
    return [noun for noun in nouns if noun is not None]


def judged(
    nouns: Sequence[str], annotation: Annotation, relation: Relation, allowed: frozenset[str], match: Match
) -> dict[str, Any]:
    """Return the columns of SCORES beside the key, for the nouns of a caption.

    A noun stands for the first object of the image that has it among its associated words, else for the first object
    of this name. If the noun is not among these words, it stands for the object of the first word that `match` accepts.
    A noun that is always allowed stands for no object and is not hallucinated. A noun that stands for no object of the
    image is hallucinated, and a noun that is not among the words of the image may stand for an expected object, too.
    """
    present, expected = (_words_of(words, relation) for words in (annotation.present, annotation.expected))
    covered, imagined = ([False] * len(words) for words in (annotation.present, annotation.expected))
    hallucinated = []
    for noun in nouns:
        named = None if noun in allowed else _first(present, noun, eq)
        if noun not in allowed and named is None:
            for index in (_first(expected, noun, eq), _first(expected, noun, match)):
                if index is not None:
                    imagined[index] = True
            named = _first(present, noun, match)
        if named is not None:
            covered[named] = True
        hallucinated.append(noun not in allowed and named is None)
    return {
        "nouns": list(nouns),
        "hallucinated": hallucinated,
        "annotated": annotation.present,
        "covered": covered,
        "expected": annotation.expected,
        "imagined": imagined,
        "mentions": [len(nouns), sum(hallucinated)],
        "with_hallucination": int(any(hallucinated)),
        "cover": [len(covered), sum(covered)],
        "cognition": [len(imagined), sum(imagined)],
    }


def _words_of(objects: Sequence[str], relation: Relation) -> list[tuple[str, int]]:
    """Return the words that stand for objects, each with the position of its object: associated words come first."""
    associated = [(word, index) for index, name in enumerate(objects) for word in relation[name]]
    return [*associated, *((name, index) for index, name in enumerate(objects))]


def _first(words: Sequence[tuple[str, int]], noun: str, match: Match) -> int | None:
    """Return the position of the object whose word is the first to match a noun, or None."""
    return next((index for word, index in words if match(noun, word)), None)


def similar_words(model: str) -> Match:
    """Return the rule of the authors' code: whether the vectors of two words by a spaCy model are similar.

    Raises TaggerError if the model is not installed or has no word vectors.
    """
    words = load_tagger(model)
    if not len(words.vocab.vectors):
        raise TaggerError(f"the spaCy model {model!r} has no word vectors; name one that has, such as en_core_web_lg")
    document = cache(words.make_doc)

    @cache
    def similar(one: str, other: str) -> bool:
        first, second = document(one), document(other)
        if not first.vector_norm or not second.vector_norm:  # a word without a vector
            return one == other
        return bool(first.similarity(second) > SIMILARITY)

    return similar


def results(job: Job, path: str, seed: int) -> Iterator[Result]:
    """Yield the results by corpus."""
    return caption_results(job, read_table(path, SCORES), seed, METRICS)


def of_captions(path: str, factors: Mapping[str, float]) -> Iterator[OfCaptions]:
    """Yield the metrics of single captions, 0 to 1; 0 if the caption has no noun, or its image no object."""
    yield from counted_values(read_table(path, SCORES), METRICS)
