"""Numbers of the tables as the page explains them: values with intervals, definitions, and files with digests."""

from collections.abc import Mapping, Sequence
from typing import Any

from captionlab.config.metrics import MetricFacts
from captionlab.evaluation.definitions import define
from captionlab.evaluation.summary import scored_in
from captionlab.jobs.provenance import input_digests
from captionlab.storage import paths
from captionlab.storage.files import digest

# What the page shows of a row of SUMMARY, and of a row of COMPARISONS.
_PLACE = ("captioner", "metric", "retriever", "candidates", "seeds", "ci_low", "ci_high", "n", "decoding")
VALUE = (*_PLACE, "value", "device")
DIFFERENCE = (*_PLACE, "against", "difference", "p_value", "p_holm", "test")
# The name of the table of captions, among the names of tables of scores.
CAPTIONS = "captions"

Row = Mapping[str, Any]


# A captioner, an evaluation, and a file behind its numbers: the table, its name and its digest.
FileBehind = tuple[str, str, Mapping[str, Any]]


def read_files_behind(captions: Sequence[str], scores: Mapping[str, Sequence[str]]) -> list[FileBehind]:
    """Return the files behind numbers: files of captions, and files of tables of scores by the name of the table."""
    found: list[FileBehind] = []
    for table, files in {CAPTIONS: captions, **scores}.items():
        for path in files:
            about = {"table": table, "name": paths.in_results(path), "digest": _digest(path)}
            places = [paths.captioner_of(path)] if table == CAPTIONS else scored_in(path)
            found += [(captioner, evaluation, about) for captioner, evaluation in places]
    return found


class Numbers:
    """The numbers of a run, and the files that they were computed from."""

    def __init__(
        self,
        summary: Sequence[Row],
        comparisons: Sequence[Row],
        analyses: Sequence[Row],
        files: Sequence[FileBehind],
        scores: Mapping[str, Sequence[str]],
        facts: Mapping[str, MetricFacts],
    ):
        """Take rows of SUMMARY and COMPARISONS, numbers of papers' analyses (`read_analyses`), the files behind all of
        them, and files and facts of tables of scores.
        """
        self.summary, self.comparisons, self.analyses, self.files = summary, comparisons, analyses, files
        self.scores, self.facts = scores, facts

    def of(self, evaluation: str, corpus: str) -> dict[str, Any]:
        """Return what the page shows of the numbers of an evaluation on a corpus.

        `values` and `differences` are rows, `analyses` numbers of papers with their definitions, `metrics` the
        definition of each metric, and `files` the files with the captions and scores of each captioner.
        """
        values, differences = (
            [
                {name: row[name] for name in columns}
                for row in rows
                if (row["evaluation"], row["corpus"]) == (evaluation, corpus)
            ]
            for rows, columns in ((self.summary, VALUE), (self.comparisons, DIFFERENCE))
        )
        files: dict[str, list[Row]] = {}
        for captioner, of_evaluation, about in self.files:
            if of_evaluation == evaluation:
                files.setdefault(captioner, []).append(about)
        names = dict.fromkeys(row["metric"] for row in (*values, *differences))
        metrics = {name: self._metric(name, evaluation) for name in names}
        analyses = [
            {name: value for name, value in row.items() if name not in ("evaluation", "corpus")}
            for row in self.analyses
            if (row["evaluation"], row["corpus"]) == (evaluation, corpus)
        ]
        known = {"values": values, "differences": differences, "analyses": analyses}
        return {**known, "metrics": metrics, "files": files}

    def _metric(self, name: str, evaluation: str) -> dict[str, Any]:
        """Return the definition of a metric in an evaluation, and the methods of its intervals."""
        of_evaluation = {about["name"] for _, other, about in self.files if other == evaluation}
        scores = {
            table: [path for path in files if paths.in_results(path) in of_evaluation]
            for table, files in self.scores.items()
        }
        defined = define(name, self.facts, {table: files for table, files in scores.items() if files})
        return {
            "definition": defined.sentence,
            "unit": defined.unit,
            "computation": defined.computation,
            "tables": defined.tables,
            "interval": defined.interval(False),
            "interval_of_difference": defined.interval(True),
        }


def _digest(path: str) -> str:
    """Return the digest of a file, which the running job has of each of its inputs."""
    return input_digests().get(paths.in_results(path)) or digest(path)
