"""Facts about models and corpora, read from files of a run: parameters, validation, numbers of images and captions."""

import math
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from captionlab.reporting.runs.values import Row
from captionlab.storage.schemas import CAPTIONS, IMAGES, REJECTS, TRAINING
from captionlab.storage.tables import read_table

AnyPath = str | os.PathLike[str]
VALIDATION = "validation_"  # prefix of the statistics of the validation in a training log


@dataclass(frozen=True)
class Counts:
    """Numbers of images and of captions of a corpus by split, and of left-out entries by reason."""

    images: Mapping[str, int]
    captions: Mapping[str, int]
    rejects: Mapping[str, int]


@dataclass(frozen=True)
class Validated:
    """The validation result of the kept weights: `value` of `measure` after `step` updates."""

    measure: str
    value: float
    step: int
    chosen: bool  # whether the best weights were kept; otherwise the last ones were


@dataclass(frozen=True)
class Trained:
    """A model that the run trained: its description from the config (captionlab.graph.documents) and its files."""

    described: Row
    config: Row  # its config.json
    parameters: int
    made: Row  # provenance of the training job
    cost: Row | None  # row of COSTS of the training job
    updates: int
    validated: Validated | None
    matching: Sequence[Row] = ()  # rows of MATCHING, for a scorer

    @property
    def name(self) -> str:
        """The model's name in the config."""
        return str(self.described["name"])

    @property
    def section(self) -> str:
        """The section of the config that defines the model."""
        return str(self.described["section"])

    @property
    def parent(self) -> str | None:
        """The name of the model that this model is finetuned from, or None."""
        return next((one["name"] for one in self.described["line"][1:]), None)

    @property
    def corpora(self) -> list[str]:
        """The corpora that the model and its ancestors were trained on in this run, its own first."""
        return list(dict.fromkeys(one["corpus"] for one in self.described["line"] if one["corpus"]))


def parameters(weights: AnyPath) -> int:
    """Return how many numbers a safetensors file holds. Only its header is read."""
    from safetensors import safe_open

    with safe_open(weights, "numpy") as file:
        return sum(math.prod(file.get_slice(name).get_shape()) for name in file.keys())  # noqa: SIM118


def counts(images: AnyPath, captions: AnyPath, rejects: AnyPath) -> Counts:
    """Return the counts of a corpus from its tables, by split or reason in order of appearance."""
    of_images = read_table(images, IMAGES, ["image_id", "split"]).to_pydict()
    splits = dict(zip(of_images["image_id"], of_images["split"], strict=True))
    described = read_table(captions, CAPTIONS, ["image_id"])["image_id"].to_pylist()
    found = Counter(splits.values())
    of_captions = Counter(splits[image] for image in described)
    reasons = Counter(read_table(rejects, REJECTS, ["reason"])["reason"].to_pylist())
    return Counts(found, {split: of_captions[split] for split in found}, reasons)


def updates(training: AnyPath) -> int:
    """Return how many updates a training made, from its log."""
    return max(read_table(training, TRAINING, ["step"])["step"].to_pylist(), default=0)


def validated(training: AnyPath, select: bool) -> Validated | None:
    """Return the validation of the weights that a training kept, or None.

    With `select`, the kept weights are the best after an update; otherwise they are the last. Returns None if nothing
    was validated, or if the last weights were not validated.
    """
    log = read_table(training, TRAINING).to_pylist()
    found = [row for row in log if row["statistic"].startswith(VALIDATION) and row["step"]]
    last = max((row["step"] for row in log), default=0)
    of_kept = found if select else [row for row in found if row["step"] == last]
    if not of_kept:
        return None
    kept = max(of_kept, key=lambda row: row["value"])  # the first of equal values
    return Validated(kept["statistic"].removeprefix(VALIDATION), kept["value"], kept["step"], select)


def many(number: int) -> str:
    """Return the number as text with commas between thousands."""
    return f"{number:,}"
