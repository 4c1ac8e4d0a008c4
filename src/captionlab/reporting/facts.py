"""What files of a run say of its models and corpora: parameters, validation, numbers of images and captions."""

import math
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from captionlab.reporting.runs import Row
from captionlab.schemas import CAPTIONS, IMAGES, REJECTS, TRAINING
from captionlab.tables import read_table

AnyPath = str | os.PathLike[str]
VALIDATION = "validation_"  # how the statistics begin that a training log has of its validation


@dataclass(frozen=True)
class Counts:
    """How many images and captions each split of a corpus has, and why how many entries were left out."""

    images: Mapping[str, int]
    captions: Mapping[str, int]
    rejects: Mapping[str, int]


@dataclass(frozen=True)
class Validated:
    """What the validation of a training says of the weights that were kept: `value` after so many updates."""

    measure: str
    value: float
    step: int
    chosen: bool  # whether the kept weights are those that did best; else they are the last


@dataclass(frozen=True)
class Trained:
    """A model that the run trained: what the config says of it (captionlab.workflow.documenting) and its files."""

    described: Row
    config: Row  # its config.json
    parameters: int
    made: Row  # what the job that trained it said of itself
    cost: Row | None  # what that took, a row of the table of costs
    updates: int
    validated: Validated | None
    matching: Sequence[Row] = ()  # of a scorer, rows of MATCHING

    @property
    def name(self) -> str:
        """Its name in the config."""
        return str(self.described["name"])

    @property
    def section(self) -> str:
        """The section of the config that it stands in."""
        return str(self.described["section"])

    @property
    def parent(self) -> str | None:
        """The name of the model that it is finetuned from."""
        return next((one["name"] for one in self.described["line"][1:]), None)

    @property
    def corpora(self) -> list[str]:
        """The corpora that it, and what it descends from, were trained on here; its own first, each once."""
        return list(dict.fromkeys(one["corpus"] for one in self.described["line"] if one["corpus"]))


def parameters(weights: AnyPath) -> int:
    """The numbers in a safetensors file, of which only the head is read."""
    from safetensors import safe_open

    with safe_open(weights, "numpy") as file:
        return sum(math.prod(file.get_slice(name).get_shape()) for name in file.keys())  # noqa: SIM118


def counts(images: AnyPath, captions: AnyPath, rejects: AnyPath) -> Counts:
    """The counts of a corpus from its tables, each by split or reason in order of appearance."""
    of_images = read_table(images, IMAGES, ["image_id", "split"]).to_pydict()
    splits = dict(zip(of_images["image_id"], of_images["split"], strict=True))
    described = read_table(captions, CAPTIONS, ["image_id"])["image_id"].to_pylist()
    found = Counter(splits.values())
    of_captions = Counter(splits[image] for image in described)
    reasons = Counter(read_table(rejects, REJECTS, ["reason"])["reason"].to_pylist())
    return Counts(found, {split: of_captions[split] for split in found}, reasons)


def updates(training: AnyPath) -> int:
    """How many updates a training made."""
    return max(read_table(training, TRAINING, ["step"])["step"].to_pylist(), default=0)


def validated(training: AnyPath, select: bool) -> Validated | None:
    """The validation of the weights that a training kept: the best after an update where `select`, else the last.

    None where nothing was validated, or the last update was not.
    """
    log = read_table(training, TRAINING).to_pylist()
    found = [row for row in log if row["statistic"].startswith(VALIDATION) and row["step"]]
    last = max((row["step"] for row in log), default=0)
    of_kept = found if select else [row for row in found if row["step"] == last]
    if not of_kept:
        return None
    kept = max(of_kept, key=lambda row: row["value"])  # the first of several
    return Validated(kept["statistic"].removeprefix(VALIDATION), kept["value"], kept["step"], select)


def many(number: int) -> str:
    """A number with its thousands parted."""
    return f"{number:,}"
