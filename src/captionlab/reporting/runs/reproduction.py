"""The captioners and corpora of a run that stand for a paper's, and the lineage of the captioners."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from captionlab.evaluation.metrics.retrieval.metric import is_named
from captionlab.reporting.runs.published import Published, PublishedValue
from captionlab.reporting.runs.values import PaperRun, Row, means


class Reproduction:
    """A block `papers.<paper>` of the config, with the lineage of the run's captioners and the published numbers.

    The block has `comparable`, `captioners` and `corpora` (the paper's label -> name in the config; labels that the
    paper does not have are allowed), and optionally `retrievers` and `evaluations`. If the block is empty, no published
    numbers are used. The lineage has for each captioner its `parent` (or None), the `corpora` that it and its ancestors
    were trained on, its `family`, and the `retriever` that gave its reward (or None).
    """

    def __init__(self, block: Row, lineage: Mapping[str, Row] | None = None, published: Published | None = None):
        self.comparable: bool = block.get("comparable", False)
        self.captioners: Mapping[str, str] = block.get("captioners", {})
        self.corpora: Mapping[str, str] = block.get("corpora", {})
        self.retrievers: Sequence[str] | None = block.get("retrievers")
        self.evaluations: Sequence[str] | None = block.get("evaluations")
        self.lineage = lineage or {}
        self.published = published if published and block else Published("", {})

    def run(self, summary: Iterable[Row], comparisons: Iterable[Row] = ()) -> PaperRun:
        """Return the measured values of captioners: rows of SUMMARY and COMPARISONS of the paper's evaluations.

        Subjects are the names of captioners. Papers print retrieval among a set of candidates. Retrieval among all
        images of the split, or in bags, is used only if there is no other.
        """
        return PaperRun(self._placed(summary), self._placed(comparisons), self.published, self.comparable, self.corpora)

    def _placed(self, rows: Iterable[Row]) -> Iterator[Row]:
        shared = {"experiment": "generated", "source": None, "level": None}
        by_place = defaultdict[tuple[Any, ...], list[Row]](list)
        for row in means(rows):
            if self.evaluations is None or row["evaluation"] in self.evaluations:
                place = {"subject": row["captioner"], "measure": row["metric"], "scorer": row["retriever"]}
                by_place[*place.values(), row["corpus"], row.get("against")].append({**row, **shared, **place})
        for found in by_place.values():
            yield from [row for row in found if is_named(row["candidates"])] or found

    def retrievers_of(self, run: PaperRun) -> list[str]:
        """Return the retrievers that the paper's tables use: the config's, or else all retrievers of the run by name.

        The first stands for the paper's retriever.
        """
        return list(self.retrievers or sorted(run.found("scorer", measure="P@1")))

    def family(self, label: str) -> str:
        """Return the family of a captioner."""
        return str(self.lineage[self.captioners[label]]["family"])

    def parent(self, label: str) -> str | None:
        """Return the label of the captioner's parent, or None if the paper's block does not have the parent."""
        parent = self.lineage[self.captioners[label]]["parent"]
        return next((other for other, name in sorted(self.captioners.items()) if name == parent), None)

    def parents(self) -> dict[str, str]:
        """Return label -> label of the parent, for captioners whose parent is in the paper's block."""
        return {label: parent for label in self.captioners if (parent := self.parent(label))}

    def in_domain(self, label: str, corpus: str) -> bool | None:
        """Return whether the captioner or an ancestor was trained on the corpus; None if this is unknown."""
        trained_on = self.lineage[self.captioners[label]]["corpora"]
        return self.corpora[corpus] in trained_on if trained_on else None

    def rewarded_by(self, retriever: str) -> bool:
        """Return whether the retriever gave the reward of a captioner of the paper."""
        return any(self.lineage[name].get("retriever") == retriever for name in self.captioners.values())

    def ordered_captioners(self, published: Sequence[str]) -> list[str]:
        """Return the labels of all captioners: the paper's in its order, others by name, human captions last."""
        return sorted(in_order(self.captioners, published), key=lambda label: self.family(label) == "human")

    def label(self, captioner: str) -> str:
        """Return the first of the paper's labels of a captioner, or its own name if the paper has no label for it."""
        return min(self.labels(captioner), default=captioner)

    def corpus_label(self, corpus: str) -> str:
        """Return the heading of a corpus's block: the paper's label and the corpus's name, or the name alone."""
        label = min((label for label, name in self.corpora.items() if name == corpus), default=corpus)
        return corpus if label == corpus else f"{label} (here {corpus})"

    def labels(self, captioner: str) -> list[str]:
        """Return all of the paper's labels of a captioner."""
        return [label for label, name in self.captioners.items() if name == captioner]

    def find(self, table: str, captioner: str, corpus: str, metric: str) -> PublishedValue | None:
        """Return the published number of a captioner on a corpus, or None."""
        columns = [label for label, name in self.corpora.items() if name == corpus]
        places = [(table, row, column, metric) for row in self.labels(captioner) for column in columns]
        return next((value for place in places if (value := self.published.find(*place))), None)

    def ranked(self, table: str, captioner: str, metric: str) -> dict[int, str]:
        """Return the published words of a captioner, by rank."""
        return {
            int(value.text): word
            for (name, word, column, what), value in self.published.values.items()
            if name == table and what == metric and column in self.labels(captioner)
        }

    def notes(self, shown: bool) -> list[str]:
        """Return the notes below a table in which published values are `shown`."""
        if not shown:
            return []
        context = "It is context, not to be compared: data and models of this run are not the paper's."
        return ["paper: what the paper prints for its captioner and corpus.", *([] if self.comparable else [context])]


def in_order(labels: Iterable[str], published: Sequence[str]) -> list[str]:
    """Return labels in the paper's order, then the rest by name. The order of keys in a config has no effect."""
    rank = {label: index for index, label in enumerate(published)}
    return sorted(labels, key=lambda label: (rank.get(label, len(rank)), label))
