"""Definitions of metrics, and the methods of their intervals in words."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from captionlab.config.metrics import Computation, MetricFacts
from captionlab.statistics.intervals import RESAMPLES

_BOOTSTRAP = f"percentile bootstrap over images, {RESAMPLES:,} resamples"
_SHARE = "Clopper and Pearson's interval of a share, of the number of captions that are independent"
_PAIRED = f"paired {_BOOTSTRAP}"
_ALIKE = "; if all images agree, it has the width of the interval of a share that nobody has"
# How `captionlab.evaluation.summary.images_interval` and `paired_interval` compute intervals, by the computation of the
# value. None is the computation of a metric without a definition.
INTERVALS: Mapping[Computation | None, str] = {
    "mean": _BOOTSTRAP,
    "corpus": _BOOTSTRAP,
    "items": _BOOTSTRAP + _ALIKE,
    "share": _SHARE,
    "distinct": f"pseudo-values of the jackknife over images, {RESAMPLES:,} resamples of them",
    "apart": _SHARE,
    None: f"over images: {_BOOTSTRAP}, or Clopper and Pearson's interval if it is a share of captions",
}
INTERVALS_OF_DIFFERENCES: Mapping[Computation | None, str] = {
    "mean": _PAIRED,
    "corpus": _PAIRED,
    "items": _PAIRED + _ALIKE,
    "share": "Bonett and Price's interval of the difference of two shares on the same images",
    "distinct": f"paired pseudo-values of the jackknife over images, {RESAMPLES:,} resamples of them",
    "apart": "Zou and Donner's interval, from the intervals of the two shares as if they were of different images",
    None: f"over images: {_PAIRED}, or Bonett and Price's interval if it is a share of captions",
}
# Sentence and unit of a metric that its plug-in does not define.
UNDEFINED = ("A metric of a plug-in, which does not define it in its FACTS.", "as the plug-in scales it")


@dataclass(frozen=True)
class DefinedMetric:
    """A metric by its printed name, with its definition and the tables of scores that may have it.

    `computation` is None if no plug-in defines the metric.
    """

    sentence: str
    unit: str
    computation: Computation | None
    tables: Sequence[str]

    def interval(self, difference: bool) -> str:
        """Return the method of the 95 % interval of a value, or of a difference."""
        return (INTERVALS_OF_DIFFERENCES if difference else INTERVALS)[self.computation]


def define(metric: str, facts: Mapping[str, MetricFacts], files: Mapping[str, Sequence[str]]) -> DefinedMetric:
    """Return the definition of a metric. `facts` and `files` are of the tables of scores, by name.

    A table of a block of the config, such as judge-clair.parquet, has only metrics with the name of the block. A metric
    that no table defines may be in each table that defines none, or in any table if all define some.
    """
    for table, files_of_table in files.items():
        stems = [Path(file).stem for file in files_of_table]
        blocks = {stem.removeprefix(f"{table}-") for stem in stems if stem.startswith(f"{table}-")}
        if definition := facts[table].definition(metric, sorted(blocks)):
            return DefinedMetric(definition.sentence, definition.unit, definition.computation, [table])
    others = [table for table in files if not facts[table].metrics] or [*files]
    return DefinedMetric(*UNDEFINED, None, others)
