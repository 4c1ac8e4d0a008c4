"""Scores of captions against references, and tests of the differences between captions."""

import logging
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from itertools import chain, combinations
from typing import TYPE_CHECKING, Any, get_args

from captionlab.config.languages import ENGLISH, PTB, Tokenizer, is_english, language_mistake, usual_tokenizer
from captionlab.evaluation.java import JavaError
from captionlab.evaluation.metrics.nlg.metric import meteor_process
from captionlab.evaluation.summary import Result, compared, mean_interval
from captionlab.evaluation.tokenizers import tokenize
from captionlab.scoring.matching import Key, check_complete, matched, warn_of_order
from captionlab.scoring.measuring import (
    DEFAULT,
    ENGLISH_ALONE,
    METRICS,
    NLG,
    WRITTEN,
    InMemory,
    Material,
    nlg_results,
    table_results,
)
from captionlab.scoring.texts import Texts, read_texts
from captionlab.statistics.multiple import holm

if TYPE_CHECKING:
    import pandas as pd

logger = logging.getLogger(__name__)
# Columns of values, and of differences.
VALUES = ("captions", "metric", "value", "ci_low", "ci_high", "n")
DIFFERENCES = (
    "captions", "against", "metric", "difference", "ci_low", "ci_high", "p_value", "p_holm", "test", "n",
)  # fmt: skip


class ScoringError(ValueError):
    """A metric is not known, or lacks what it needs."""


@dataclass(frozen=True, kw_only=True)
class Options:
    """What is measured, and how."""

    metrics: Sequence[str] = DEFAULT
    """names of METRICS"""
    split: str = "test"
    """split that is taken of files with Karpathy's splits"""
    captioned_only: bool = False
    """whether images without a caption are left out"""
    seed: int = 1
    """seed of the resamples, by default the workflow's"""
    images: str | os.PathLike[str] | None = None
    """folder of the images, for CLIPScore"""
    encoder: str | os.PathLike[str] | None = None
    """folder of the encoder of CLIPScore, by default OpenAI's ViT-B/32"""
    objects: str | os.PathLike[str] | None = None
    """COCO's instances file, for CHAIR"""
    language: str = ENGLISH
    """language of captions and references, as a code such as de or zh-Hant"""
    tokenizer: Tokenizer | None = None
    """tokeniser, by default the tokeniser of the language"""
    splits_by: Tokenizer = field(init=False)
    """the tokeniser that is used"""
    wanted: tuple[str, ...] = field(init=False)
    """the metrics, in the order of METRICS"""

    def __post_init__(self) -> None:
        """Raise ScoringError for an unknown metric, or one that lacks what it needs."""
        if isinstance(self.metrics, str):
            raise ScoringError(f"metrics is a text; give a list of names, such as [{self.metrics!r}]")
        if self.seed < 0:
            raise ScoringError(f"seed is {self.seed}; it must be 0 or more")
        if unknown := [name for name in self.metrics if name not in METRICS]:
            raise ScoringError(f"there is no metric {unknown[0]!r}; there are {', '.join(METRICS)}")
        self._choose_tokenizer()
        asked = {*self.metrics, *(["clipscore"] if self.images else []), *(["chair"] if self.objects else [])}
        for name, option, value in (("clipscore", "images", self.images), ("chair", "objects", self.objects)):
            if name in asked and not value:
                raise ScoringError(f"{name} needs `{option}`, {_NEEDS[name]}")
        if self.splits_by != PTB:
            asked -= {"meteor"} if tuple(self.metrics) == DEFAULT else set()
            if english := [name for name in ENGLISH_ALONE if name in asked]:
                raise ScoringError(f"{english[0]} is for captions in English, by the tokeniser {PTB}; leave it out")
        object.__setattr__(self, "wanted", tuple(name for name in METRICS if name in asked))

    def _choose_tokenizer(self) -> None:
        """Set the tokeniser. Raises ScoringError if there is no such language or tokeniser."""
        if wrong := language_mistake(self.language):
            raise ScoringError(f"language {wrong}")
        chosen = self.tokenizer or usual_tokenizer(self.language)
        if chosen not in get_args(Tokenizer):
            raise ScoringError(f"there is no tokeniser {chosen!r}; there are {', '.join(get_args(Tokenizer))}")
        if chosen == PTB and not is_english(self.language):
            raise ScoringError(f"the tokeniser {PTB} is for English, and the language is {self.language}")
        object.__setattr__(self, "splits_by", chosen)


_NEEDS = {"clipscore": "the folder of the images", "chair": "COCO's instances file with the objects of the images"}


def score(captions: Any, references: Any, metrics: Sequence[str] = DEFAULT, **options: Any) -> "pd.DataFrame":
    """Return metrics of captions with their 95 % intervals over images, a row for each metric.

    Captions and references are the path of a file, texts by image id, records with image_id and caption, or such a data
    frame (captionlab.scoring.texts.read_texts). `metrics` are names of captionlab.scoring.measuring.METRICS; `options`
    are fields of Options. The columns are VALUES: values and interval ends are as papers print them (CIDEr times 100),
    n is the number of images. Raises ValueError for wrong input, and JavaError if Java is needed and does not run.
    """
    import pandas as pd

    results = measure({"captions": captions}, references, Options(metrics=metrics, **options))
    return pd.DataFrame(value_rows(results), columns=[name for name in VALUES if name != "captions"])


def compare(
    captions: Mapping[str, Any], references: Any, metrics: Sequence[str] = DEFAULT, **options: Any
) -> "pd.DataFrame":
    """Return the differences between every two captioners, a row for each metric, with intervals and tests.

    `captions` has the captions of each captioner by a name; all else is as for `score`. The columns are DIFFERENCES:
    the value of `captions` minus the value of `against`, its 95 % interval over images, the p-value of the paired
    bootstrap, and the p-value with Holm's correction for the number of pairs of the metric.
    """
    import pandas as pd

    if not isinstance(captions, Mapping):
        raise ScoringError(f"captions are a {type(captions).__name__}; give the captions of each captioner by a name")
    if len(captions) < 2:
        raise ScoringError("a comparison needs the captions of two captioners or more")
    results = measure(captions, references, Options(metrics=metrics, **options))
    return pd.DataFrame(difference_rows(results), columns=[*DIFFERENCES])


def measure(captions: Mapping[str, Any], references: Any, options: Options) -> dict[str, list[Result]]:
    """Return the results of the captions of each captioner, by its name.

    Raises ValueError if a source is wrong, and JavaError, which names the metrics without Java, if Java does not run.
    """
    texts = read_texts(references, "references", options.split)
    sources = {name: read_texts(source, name, options.split) for name, source in captions.items()}
    reads_tokens = [name for name in options.wanted if name not in WRITTEN]
    try:
        materials = _materials(sources, texts, options)
        starting = meteor_process(_every_text(materials)) if "meteor" in options.wanted else nullcontext()
        with starting as meteor:
            results = (
                [*nlg_results(materials, options.wanted, meteor, options.seed)] if {*NLG} & {*reads_tokens} else []
            )
        for name in options.wanted:
            if name not in NLG:
                results += _of_table(name, materials, options)
    except JavaError as error:
        others = ", ".join(WRITTEN)
        raise JavaError(f"{error}; {', '.join(reads_tokens)} need Java, and {others} do without (--metrics)") from error
    return {name: [result for result in results if result.job.captioner == name] for name in captions}


def _materials(sources: Mapping[str, Texts], references: Texts, options: Options) -> list[Material]:
    """Return what is scored. Raises ValueError if captions and references are not about the same images."""
    every = {image: texts for image, texts in references.of_images.items() if texts}
    if not every:
        raise ScoringError(f"{references.name} has no references")
    if all(len(texts) == 1 for texts in every.values()):
        logger.warning("%s: each image has one reference; values of papers are by several", references.name)
    captions = {name: matched(texts, every, references.name) for name, texts in sources.items()}
    described = {image for of_source in captions.values() for image, _ in of_source}
    kept = {image: every[image] for image in every if image in described or not options.captioned_only}
    for name, texts in sources.items():
        check_complete(texts, captions[name], kept, references.name)
        warn_of_order(texts, captions[name], kept, references.name)
    of_references = _tokens(
        {(image, n): text for image, texts in kept.items() for n, text in enumerate(texts)}, options
    )
    return [
        Material(
            captioner=name,
            captions=of_source,
            tokens=_tokens(of_source, options),
            written=kept,
            references={image: [of_references[image, n] for n in range(len(texts))] for image, texts in kept.items()},
            tokenizer=options.splits_by,
            language=options.language,
        )
        for name, of_source in captions.items()
    ]


def _every_text(materials: Sequence[Material]) -> Iterator[str]:
    """Yield the tokens of all captions, and of all references, which are the same for all captioners."""
    for material in materials:
        yield from material.tokens.values()
    yield from chain.from_iterable(materials[0].references.values())


def _tokens(texts: Mapping[Key, str], options: Options) -> dict[Key, str]:
    """Return the tokens of texts, joined by spaces; no tokens if no metric reads them.

    As in the workflow, references have a process of the tokeniser, and so have the captions of each captioner: at the
    end of a text, the tokeniser looks at the beginning of the next text.
    """
    is_read = any(name not in WRITTEN for name in options.wanted)
    tokens = tokenize([*texts.values()], options.splits_by) if is_read else [""] * len(texts)
    return dict(zip(texts, tokens, strict=True))


def _of_table(name: str, materials: Sequence[Material], options: Options) -> list[Result]:
    """Return the results of a metric with a table of its own. Raises ScoringError if a library is not installed."""
    from captionlab.scoring.beside import chair_results, clipscore_results, spice_results

    try:
        if name == "clipscore" and options.images:
            return [*clipscore_results(materials, options.images, options.encoder, options.seed)]
        if name == "chair" and options.objects:
            return [*chair_results(materials, options.objects, options.seed)]
        if name == "spice":
            return [*spice_results(materials, options.seed)]
        return [
            result
            for one in materials
            for result in table_results(one, name, options.seed, InMemory(one, {name: True}))
        ]
    except ModuleNotFoundError as error:
        raise ScoringError(
            f"{name} needs {error.name}, which is not installed; pip install 'captionlab[workflow]'"
        ) from error


def value_rows(results: Mapping[str, Sequence[Result]]) -> list[dict[str, Any]]:
    """Return a row of VALUES for each result."""
    rows = []
    for name, of_captioner in results.items():
        for result in of_captioner:
            value, low, high = mean_interval([result])
            number = {"value": value, "ci_low": low, "ci_high": high, "n": len(result.images)}
            rows.append({"captions": name, "metric": result.metric, **number})
    return rows


def difference_rows(results: Mapping[str, Sequence[Result]]) -> list[dict[str, Any]]:
    """Return a row of DIFFERENCES for every two captioners and each metric."""
    rows = []
    for name, other in combinations(results, 2):
        against = {result.metric: result for result in results[other]}
        for result in results[name]:
            if result.metric in against:
                where = {"captions": name, "against": other, "metric": result.metric}
                rows.append({**where, **compared(result, against[result.metric])})
    for metric in dict.fromkeys(row["metric"] for row in rows):
        of_metric = [row for row in rows if row["metric"] == metric]
        for row, corrected in zip(of_metric, holm([row["p_value"] for row in of_metric]), strict=True):
            row["p_holm"] = corrected
    return rows
