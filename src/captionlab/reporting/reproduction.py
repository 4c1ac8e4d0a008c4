"""Which captioners and corpora of a run stand for which of a paper's, and how they descend from each other."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any


class Reproduction:
    """A block `papers.<paper>` of the config with the lineage of the run's captioners.

    The block has `comparable`, `captioners` and `corpora` (the paper's label -> name in the config), and perhaps
    `retrievers` and `evaluations`. The lineage gives for each captioner its `parent` (or None), the `corpora` that it
    and its ancestors were trained on, its `family`, and the `retriever` that gave its reward (or None). Labels that
    the paper does not have are allowed: their numbers have nothing beside them.
    """

    def __init__(self, block: Mapping[str, Any], lineage: Mapping[str, Mapping[str, Any]]):
        self.comparable: bool = block["comparable"]
        self.captioners: Mapping[str, str] = block["captioners"]
        self.corpora: Mapping[str, str] = block["corpora"]
        self.retrievers: Sequence[str] | None = block.get("retrievers")
        self.evaluations: Sequence[str] | None = block.get("evaluations")
        self.lineage = lineage

    def family(self, label: str) -> str:
        """Family of a captioner."""
        return str(self.lineage[self.captioners[label]]["family"])

    def parent(self, label: str) -> str | None:
        """Label of the captioner that this one is finetuned from, None when the paper's block has no such captioner."""
        parent = self.lineage[self.captioners[label]]["parent"]
        return next((other for other, name in sorted(self.captioners.items()) if name == parent), None)

    def in_domain(self, label: str, corpus: str) -> bool | None:
        """Was the captioner, or an ancestor, trained on the corpus? None when nobody knows what it was trained on."""
        trained_on = self.lineage[self.captioners[label]]["corpora"]
        return self.corpora[corpus] in trained_on if trained_on else None

    def rewarded_by(self, retriever: str) -> list[str]:
        """Labels of the captioners whose reward this retriever gave."""
        return [
            label for label, name in sorted(self.captioners.items()) if self.lineage[name].get("retriever") == retriever
        ]

    def ordered_captioners(self, published: Sequence[str]) -> list[str]:
        """All captioners: the paper's in its order, others by name, people last."""
        return sorted(_in_order(self.captioners, published), key=lambda label: self.family(label) == "human")

    def ordered_corpora(self, published: Sequence[str]) -> list[str]:
        """All corpora: the paper's in its order, others by name."""
        return _in_order(self.corpora, published)


def _in_order(labels: Iterable[str], published: Sequence[str]) -> list[str]:
    """Labels in the paper's order, then the rest by name: the order of keys in a config must not matter."""
    rank = {label: index for index, label in enumerate(published)}
    return sorted(labels, key=lambda label: (rank.get(label, len(rank)), label))
