"""What a run measured for the scenes paper."""

from collections.abc import Iterable, Mapping
from typing import Any

from captionlab.reporting.published import Published
from captionlab.reporting.runs import Measured, Place, Row, Run
from captionlab.reporting.sheets import RECORD_COLUMNS, Sheet

OVER_SPLITS = (
    "Intervals: 95 %, Student's t over splits that are drawn anew, corrected for the images that they share, and never "
    "narrower than the test images of one split allow."
)


class ScenesRun(Run):
    """A run, and what it is about.

    `job` has `split`, the split that is tested on (images of all others are the paper's "Train-Val"), `corpus`, the
    corpus that is analysed, `validation`, that of Table 1, and `training`, which the finetuned captioner learnt from.
    """

    def __init__(
        self,
        values: Iterable[Row],
        differences: Iterable[Row],
        published: Published,
        comparable: bool,
        job: Mapping[str, Any],
    ):
        super().__init__(values, differences, published, comparable, {"HL-Scenes": job["validation"]})
        self.corpus, self.validation, self.training, self.split = (
            job[name] for name in ("corpus", "validation", "training", "split")
        )

    def place(self, experiment: str, subject: str, measure: str, **other: Any) -> Place:
        """A place on the corpus that is analysed; `other` has the columns that are missing by default."""
        return Place(subject, self.corpus, measure, experiment=experiment, **other)


def scenes_sheet(run: ScenesRun, provenance: Mapping[str, Any]) -> Sheet:
    """The sheet of a table: the paper has no scorers, and in each experiment one corpus."""
    columns = [name for name in RECORD_COLUMNS if name not in ("corpus", "scorer")]
    return Sheet(run, provenance, columns, decimals=2, of_roles=False)


def without_interval(value: float, n: int) -> Measured:
    """A number that nothing is resampled for."""
    return Measured(value, value, value, 1, n)
