"""Results on a model card: values with intervals and numbers of images by corpus, for readers and for model hubs."""

import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from captionlab.evaluation.metrics.retrieval.metric import is_named
from captionlab.reporting.documents.facts import Trained
from captionlab.reporting.documents.passages import Passage
from captionlab.reporting.runs.values import Row, trainings
from captionlab.reporting.tables.evaluation_table import ENDS, UNITS
from captionlab.reporting.tables.footnotes import OVER_IMAGES
from captionlab.reporting.tables.formats.markdown import escape_markdown
from captionlab.reporting.tables.render import MISSING, interval_cell, p_text

PLACE = ("corpus", "evaluation", "retriever", "candidates", "metric")
DIFFERENCE = ("difference", *ENDS[1:])
# Metrics that are only in the tables: hubs show one number for each metric.
SECONDARY = {"BLEU@1", "BLEU@2", "BLEU@3", "R@5", "R@10", "mean rank"}
NOTHING = "No evaluation of this run is about it."
MATCHED = {"random": "any other image", "hard": "an image that is alike"}


class Results:
    """The results of a run: rows of SUMMARY and COMPARISONS, and the names of its corpora on a model hub.

    An encoder is evaluated by how well it retrieves images for the captions of `humans`. A scorer is evaluated by the
    rows of MATCHING. `hubs` maps the name of a corpus to its name on the hub, None if it has none.
    """

    def __init__(
        self,
        summary: Sequence[Row],
        comparisons: Sequence[Row],
        humans: Collection[str],
        hubs: Mapping[str, str | None],
    ):
        self.summary, self.humans, self.hubs = summary, humans, hubs
        self.differences = {
            (row["captioner"], row["against"], *_place(row)): row for row in comparisons if row["seeds"] == 1
        }
        self.means = {(row["captioner"], *_place(row)): row for row in summary if row["seeds"] > 1}

    def rows(self, model: Trained) -> list[Row]:
        """Return the rows of SUMMARY about a single training of the model; an empty list for a scorer."""
        if model.section == "captioners":
            return [row for row in self.summary if row["captioner"] == model.name and row["seeds"] == 1]
        if model.section == "scorers":
            return []
        found = (row for row in self.summary if row["retriever"] == model.name and row["seeds"] == 1)
        return [row for row in found if row["captioner"] in self.humans]

    # --------------------------------------------------------------------------------------------- for people
    def passages(self, model: Trained) -> list[Passage]:
        """Return tables by corpus and evaluation; corpora that the model was trained on come first."""
        if model.section == "scorers":
            return [_matching(model.matching)]
        by_corpus = defaultdict[tuple[str, ...], list[Row]](list)
        for row in self.rows(model):
            by_corpus[row["corpus"], row["split"], row["evaluation"], row["decoding"]].append(row)
        if not by_corpus:
            return [Passage(NOTHING)]
        about = "" if model.section == "captioners" else "It finds images by the captions that the corpus gives them. "
        passages = [Passage(f"{about}Values are {UNITS}. {OVER_IMAGES}")]
        for (corpus, split, evaluation, decoding), rows in sorted(
            by_corpus.items(), key=lambda of_corpus: of_corpus[0][0] not in model.corpora
        ):
            trained = "on these images" if split == "train" else "on others of its images"
            seen = f"it was trained {trained}" if corpus in model.corpora else "it was not trained on it"
            decoded = f", decoding {decoding}" if model.section == "captioners" else ""
            text = f"Evaluation {evaluation}{decoded}; {seen}."
            headings, cells = self._table(model, rows)
            numeric = {*headings} - {"metric", "judged by"}
            passages.append(Passage(text, headings, cells, numeric, f"{corpus}, {split}"))
        return passages

    def _table(self, model: Trained, rows: Sequence[Row]) -> tuple[list[str], list[list[str]]]:
        """Return headings and rows of a table of metrics on one corpus.

        Beside the values are the differences from the parent and the means over trainings.
        """
        of_parent = [self.differences.get((model.name, model.parent, *_place(row))) for row in rows]
        block = model.described["trainings"]
        of_mean = [self.means.get((block[0], *_place(row))) if block else None for row in rows]
        headings = ["metric", "judged by", "value", "95 % interval", "n"]
        if any(of_parent):
            headings += [f"above its parent {model.parent}", "p"]
        if any(of_mean):
            headings.append(f"mean of {trainings(len(block))}")
        lines = []
        for row, apart, mean in zip(rows, of_parent, of_mean, strict=True):
            form = ".1f" if row["retriever"] else ".2f"
            judge = ", ".join(filter(None, (row["retriever"], row["candidates"])))
            cells = [row["metric"], judge, *_interval(row, ENDS, form), str(row["n"])]
            if any(of_parent):
                cells += [" ".join(_interval(apart, DIFFERENCE, f"+{form}")), _p(apart)]
            if any(of_mean):
                cells.append(" ".join(_interval(mean, ENDS, form)))
            lines.append(cells)
        return headings, lines

    # ----------------------------------------------------------------------------------------------- for hubs
    def for_hubs(self, model: Trained, task: str) -> list[Any]:
        """Return the main results as huggingface_hub's EvalResult, in the order of the summary."""
        return [*hub_results(self.rows(model), self.hubs, task), *self._matched(model, task)]

    def _matched(self, model: Trained, task: str) -> Iterator[Any]:
        from huggingface_hub import EvalResult

        (corpus,) = model.corpora if model.matching else ("",)
        for row in model.matching:
            yield EvalResult(
                task_type=task,
                dataset_type=self.hubs.get(corpus) or corpus,
                dataset_name=corpus,
                dataset_split=row["split"],
                metric_type=row["measure"],
                metric_name=f"{row['measure']} against captions of {MATCHED[row['negatives']]}",
                metric_value=_rounded(row["value"]),
                metric_args={
                    "negatives": row["negatives"],
                    **{key: _rounded(row[key]) for key in ENDS[1:]},
                    "n": row["n"],
                },
            )


def hub_results(rows: Sequence[Row], hubs: Mapping[str, str | None], task: str) -> list[Any]:
    """Return rows of SUMMARY, or records of `evaluation.csv`, as huggingface_hub's EvalResult, in their order.

    Hubs show one number for each metric, so metrics of SECONDARY are left out, and values among all images or in bags
    where there are values among the candidates that the evaluation names. The interval, the number of images, the
    decoding, the retriever and the candidates are arguments of the metric. `hubs` maps a corpus to its name on the hub,
    None if it has none.
    """
    from huggingface_hub import EvalResult

    values = [row for row in rows if not row.get("against")]  # the others are differences
    among = {_place(row)[:-2] for row in values if is_named(row["candidates"])}
    found = []
    for row in values:
        if row["metric"] in SECONDARY or (not is_named(row["candidates"]) and _place(row)[:-2] in among):
            continue
        judged = {key: row[key] for key in ("retriever", "candidates") if row[key]}
        ends = {key: _rounded(float(row[key])) for key in ENDS[1:]}
        result = EvalResult(
            task_type=task,
            dataset_type=hubs.get(row["corpus"]) or row["corpus"],
            dataset_name=row["corpus"],
            dataset_config=row["evaluation"],
            dataset_split=row["split"],
            metric_type=_slug(row["metric"]),
            metric_name=", ".join((row["metric"], *judged.values())),
            metric_value=_rounded(float(row["value"])),
            metric_args={"decoding": row["decoding"], **judged, **ends, "n": int(row["n"])},
        )
        found.append(result)
    return found


def _matching(rows: Sequence[Row]) -> Passage:
    """Return a table of how often a scorer tells captions of an image from captions of other images, in per cent."""
    if not rows:
        return Passage(NOTHING)
    lines = []
    for row in rows:
        value, ends = _interval({key: 100 * row[key] for key in ENDS}, ENDS, ".1f")
        lines.append([row["measure"], MATCHED[row["negatives"]], value, ends, str(row["n"])])
    headings = ["measure", "told from captions of", "value", "95 % interval", "n"]
    explained = (
        "Accuracy: pairs, half of them matching, on the right side of one half. Ranking: matching captions with a "
        "larger score than another of the same image. In per cent; intervals over images."
    )
    place = f"On the split {rows[0]['split']} of the corpus that it was trained on, which it has not seen. {explained}"
    return Passage(escape_markdown(place), headings, lines, headings[2:])


def _place(row: Row) -> tuple[Any, ...]:
    return tuple(row[name] for name in PLACE)


def _interval(row: Row | None, names: Sequence[str], form: str) -> list[str]:
    """Return the text of a value and the text of its interval; a dash and an empty text if the row is None."""
    if row is None:
        return [MISSING, ""]
    cell = interval_cell([row[name] for name in names], form)
    return [cell.text, cell.detail]


def _p(row: Row | None) -> str:
    return MISSING if row is None or row["p_value"] is None else p_text(row["p_value"])


def _rounded(value: float) -> float:
    """Return the number with six significant digits."""
    return float(f"{value:.6g}")


def _slug(metric: str) -> str:
    """Return the metric's name in the form that hubs use, for example bleu-4 for BLEU@4."""
    return re.sub("[^a-z0-9]+", "-", metric.lower()).strip("-")
