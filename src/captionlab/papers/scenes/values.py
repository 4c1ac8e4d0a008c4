"""Values and differences of a run for the scenes paper."""

from collections.abc import Iterable
from typing import Any

from captionlab.reporting.claims.reading import Provenance
from captionlab.reporting.runs.links import captions_link
from captionlab.reporting.runs.published import Published
from captionlab.reporting.runs.values import Coordinates, Measured, PaperRun, Row
from captionlab.reporting.tables.sheets import RECORD_COLUMNS, Sheet

# Use of the columns of ROLE_VALUES and ROLE_DIFFERENCES. `subject` is pretrained or finetuned, or the paper's label of
# a captioner in Table 1. `source` is a relation of the attention, a split, a probe, or a kind of positions. `level` is
# a depth, a number of removed objects (missing: all numbers together), a share of test images, or a layer.

# The experiment of Table 1: metrics of captions in one evaluation.
CAPTIONS = "scene captions"


class ScenesRun(PaperRun):
    """A run, with the corpora, splits and captioners that stand for the paper's.

    `job` has `split` (the test split; images of all others are the paper's "Train-Val"), `corpus` (the corpus that is
    analysed), `validation` (the corpus of Table 1), `training` (the corpus of the finetuning), `evaluation` (the
    evaluation of Table 1) and `labels` (captioner -> its label in the paper).
    """

    def __init__(
        self, values: Iterable[Row], differences: Iterable[Row], published: Published, comparable: bool, job: Row
    ):
        super().__init__(values, differences, published, comparable, {"HL-Scenes": job["validation"]})
        self.corpus, self.training, self.split = (job[name] for name in ("corpus", "training", "split"))
        self.evaluation, self.named = job["evaluation"], {label: name for name, label in job["labels"].items()}

    def link(self, place: Coordinates, against: str | None = None) -> str:
        """Return the address of the captions behind a number of Table 1, empty for other numbers.

        Other numbers do not belong to the captions of an evaluation.
        """
        captioner, other = (self.named.get(label) for label in (place.subject, against))
        if place.experiment != CAPTIONS or captioner is None or (against is not None and other is None):
            return ""
        return captions_link(place.corpus, captioner, self.evaluation, place.measure, against=other)

    def place(self, experiment: str, subject: str, measure: str, **other: Any) -> Coordinates:
        """Return a place on the corpus that is analysed; `other` sets the optional fields."""
        return Coordinates(subject, self.corpus, measure, experiment=experiment, **other)


def scenes_sheet(run: ScenesRun, provenance: Provenance) -> Sheet:
    """Return the sheet of a table, without columns for scorers and corpora: each experiment has one corpus."""
    columns = [name for name in RECORD_COLUMNS if name not in ("corpus", "scorer")]
    return Sheet(run, provenance, columns, decimals=2, of_roles=False)


def three(found: Row, name: str = "value") -> tuple[float, float, float]:
    """Return a number of a row with the ends of its interval."""
    return found[name], found["ci_low"], found["ci_high"]


def without_interval(value: float, n: int) -> Measured:
    """Return a number that has no interval."""
    return Measured(value, value, value, 1, n)
