"""Which captioners and corpora of a run stand for which of a paper's, and how they descend from each other."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from captionlab.reporting.published import Published, PublishedValue
from captionlab.reporting.runs import Row, Run, means


class Reproduction:
    """A block `papers.<paper>` of the config with the lineage of the run's captioners and the paper's numbers.

    The block has `comparable`, `captioners` and `corpora` (the paper's label -> name in the config; labels that it does
    not have are allowed), and perhaps `retrievers` and `evaluations`; of an empty one nothing of the paper is found.
    The lineage gives for each captioner its `parent` (or None), the `corpora` that it and its ancestors were trained
    on, its `family`, and the `retriever` that gave its reward (or None).
    """

    def __init__(self, block: Row, lineage: Mapping[str, Row] | None = None, published: Published | None = None):
        self.comparable: bool = block.get("comparable", False)
        self.captioners: Mapping[str, str] = block.get("captioners", {})
        self.corpora: Mapping[str, str] = block.get("corpora", {})
        self.retrievers: Sequence[str] | None = block.get("retrievers")
        self.evaluations: Sequence[str] | None = block.get("evaluations")
        self.lineage = lineage or {}
        self.published = published if published and block else Published("", {})

    def run(self, summary: Iterable[Row], comparisons: Iterable[Row] = ()) -> Run:
        """What was measured of captioners, as subjects by name: rows of SUMMARY and COMPARISONS of the evaluations.

        Retrieval among a set of candidates is what papers print; retrieval among all images of the split is taken where
        there is nothing else.
        """
        return Run(self._placed(summary), self._placed(comparisons), self.published, self.comparable, self.corpora)

    def _placed(self, rows: Iterable[Row]) -> Iterator[Row]:
        shared = {"experiment": "generated", "source": None, "level": None}
        by_place = defaultdict[tuple[Any, ...], list[Row]](list)
        for row in means(rows):
            if self.evaluations is None or row["evaluation"] in self.evaluations:
                place = {"subject": row["captioner"], "measure": row["metric"], "scorer": row["retriever"]}
                by_place[*place.values(), row["corpus"], row.get("against")].append({**row, **shared, **place})
        for found in by_place.values():
            yield from [row for row in found if "full" not in (row["candidates"] or "")] or found

    def retrievers_of(self, run: Run) -> list[str]:
        """Retrievers whose word counts, the one that stands for the paper's first: the config's, or all of the run."""
        return list(self.retrievers or sorted(run.found("scorer", measure="P@1")))

    def family(self, label: str) -> str:
        """Family of a captioner."""
        return str(self.lineage[self.captioners[label]]["family"])

    def parent(self, label: str) -> str | None:
        """Label of the captioner that this one is finetuned from, None when the paper's block has no such captioner."""
        parent = self.lineage[self.captioners[label]]["parent"]
        return next((other for other, name in sorted(self.captioners.items()) if name == parent), None)

    def parents(self) -> dict[str, str]:
        """Labels of captioners that are finetuned from another of the block, and of that."""
        return {label: parent for label in self.captioners if (parent := self.parent(label))}

    def in_domain(self, label: str, corpus: str) -> bool | None:
        """Was the captioner, or an ancestor, trained on the corpus? None when nobody knows what it was trained on."""
        trained_on = self.lineage[self.captioners[label]]["corpora"]
        return self.corpora[corpus] in trained_on if trained_on else None

    def rewarded_by(self, retriever: str) -> bool:
        """Whether the retriever gave the reward of a captioner of the paper."""
        return any(self.lineage[name].get("retriever") == retriever for name in self.captioners.values())

    def ordered_captioners(self, published: Sequence[str]) -> list[str]:
        """All captioners: the paper's in its order, others by name, people last."""
        return sorted(in_order(self.captioners, published), key=lambda label: self.family(label) == "human")

    def label(self, captioner: str) -> str:
        """Return the first of the paper's labels of a captioner, or its own name where the paper has no such."""
        return min(self.labels(captioner), default=captioner)

    def corpus_label(self, corpus: str) -> str:
        """Return how the block of a corpus is headed: by the paper's label with the corpus's name, or by that alone."""
        label = min((label for label, name in self.corpora.items() if name == corpus), default=corpus)
        return corpus if label == corpus else f"{label} (here {corpus})"

    def labels(self, captioner: str) -> list[str]:
        """The paper's labels of a captioner."""
        return [label for label, name in self.captioners.items() if name == captioner]

    def find(self, table: str, captioner: str, corpus: str, metric: str) -> PublishedValue | None:
        """The number printed for a captioner on a corpus."""
        columns = [label for label, name in self.corpora.items() if name == corpus]
        places = [(table, row, column, metric) for row in self.labels(captioner) for column in columns]
        return next((value for place in places if (value := self.published.find(*place))), None)

    def ranked(self, table: str, captioner: str, metric: str) -> dict[int, str]:
        """The words printed for a captioner, by rank."""
        return {
            int(value.text): word
            for (name, word, column, what), value in self.published.values.items()
            if name == table and what == metric and column in self.labels(captioner)
        }

    def notes(self, shown: bool) -> list[str]:
        """What must be said below a table where something printed in the paper is `shown`."""
        if not shown:
            return []
        context = "It is context, not to be compared: data and models of this run are not the paper's."
        return ["paper: what the paper prints for its captioner and corpus.", *([] if self.comparable else [context])]


def in_order(labels: Iterable[str], published: Sequence[str]) -> list[str]:
    """Labels in the paper's order, then the rest by name: the order of keys in a config must not matter."""
    rank = {label: index for index, label in enumerate(published)}
    return sorted(labels, key=lambda label: (rank.get(label, len(rank)), label))
