"""What a run measured for the scenes paper."""

from collections.abc import Iterable
from typing import Any

from captionlab.reporting.links import captions_link
from captionlab.reporting.published import Published
from captionlab.reporting.reading import Provenance
from captionlab.reporting.runs import Measured, Place, Row, Run
from captionlab.reporting.sheets import RECORD_COLUMNS, Sheet

# Of ROLE_VALUES or of ROLE_DIFFERENCES. `subject` is pretrained or finetuned, or the paper's label of a captioner in
# Table 1; `source` a relation of the attention, a split, a probe, or a kind of positions; `level` a depth, a number of
# removed objects (missing: all numbers together), a share of test images, or a layer.

# The experiment of Table 1: metrics of captions in one evaluation.
CAPTIONS = "scene captions"


class ScenesRun(Run):
    """A run, and what it is about.

    `job` has `split`, the split that is tested on (images of all others are the paper's "Train-Val"), `corpus`, the
    corpus that is analysed, `validation`, that of Table 1, and `training`, which the finetuned captioner learnt from;
    `evaluation`, that of Table 1, and `labels`, the paper's labels of its captioners by name.
    """

    def __init__(
        self, values: Iterable[Row], differences: Iterable[Row], published: Published, comparable: bool, job: Row
    ):
        super().__init__(values, differences, published, comparable, {"HL-Scenes": job["validation"]})
        self.corpus, self.training, self.split = (job[name] for name in ("corpus", "training", "split"))
        self.evaluation, self.named = job["evaluation"], {label: name for name, label in job["labels"].items()}

    def link(self, place: Place, against: str | None = None) -> str:
        """Where the captions of a row of Table 1 are shown; all else is not of the captions of an evaluation."""
        captioner, other = (self.named.get(label) for label in (place.subject, against))
        if place.experiment != CAPTIONS or captioner is None or (against is not None and other is None):
            return ""
        return captions_link(place.corpus, captioner, self.evaluation, place.measure, against=other)

    def place(self, experiment: str, subject: str, measure: str, **other: Any) -> Place:
        """A place on the corpus that is analysed; `other` has the columns that are missing by default."""
        return Place(subject, self.corpus, measure, experiment=experiment, **other)


def scenes_sheet(run: ScenesRun, provenance: Provenance) -> Sheet:
    """The sheet of a table: the paper has no scorers, and in each experiment one corpus."""
    columns = [name for name in RECORD_COLUMNS if name not in ("corpus", "scorer")]
    return Sheet(run, provenance, columns, decimals=2, of_roles=False)


def three(found: Row, name: str = "value") -> tuple[float, float, float]:
    """A number of a row with the ends of its interval."""
    return found[name], found["ci_low"], found["ci_high"]


def without_interval(value: float, n: int) -> Measured:
    """A number that nothing is resampled for."""
    return Measured(value, value, value, 1, n)
