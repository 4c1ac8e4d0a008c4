"""The block `papers.clipscore` of a config: sets of judgements and the encoder that stand for the paper's."""

from collections.abc import Iterator
from typing import Any

from captionlab import paths
from captionlab.declarations import JudgementReader, declared
from captionlab.judgements import POOL
from captionlab.reporting.paper import Block, Needs, Paper, listed

# Name of a table -> the paper's labels of its judgements, which are ratings of captions or pairs of captions.
OF_RATINGS = {
    "table1_expert": ("Flickr8k-Expert",),
    "table2_cf": ("Flickr8k-CF",),
    "table3_composite": ("Composite",),
}
OF_PAIRS = {"table4_pascal": ("Pascal-50S",), "table5_foil": ("FOIL-1", "FOIL-4")}
TABLES = {**OF_RATINGS, **OF_PAIRS}
RATED = [label for labels in OF_RATINGS.values() for label in labels]
# Labels by which claims are judged: no printed number of the other tables was confirmed.
CLAIMED = ("Flickr8k-Expert", "Flickr8k-CF")


def sets_of(block: Block) -> dict[str, str]:
    """Return the set of judgements of each label. The names of several sets, which are pooled, are joined."""
    return {label: POOL.join(listed(names)) for label, names in block.get("judgements", {}).items()}


class Clipscore(Paper):
    """Hessel et al. 2021."""

    name = "clipscore"
    citation = "Hessel et al. 2021, *CLIPScore: A Reference-free Evaluation Metric for Image Captioning*"

    def tables(self) -> list[str]:
        """Return the names of the tables: one for each set of judgements in the block, one for both sets of FOIL."""
        named = {*self._labels()}
        return [f"{self.name}_{table}" for table, labels in TABLES.items() if named & {*labels}]

    def tabulated(self) -> Needs:
        """Return the inputs of the tables: agreement of metrics with judgements, and differences between metrics."""
        labels = self._labels()
        inputs = {table: self._tables(table, labels) for table in ("correlations", "differences")}
        return Needs(inputs, self._params(labels), mem_mb=2000, runtime=10)

    def judged(self) -> Needs:
        """Return the inputs of the evidence: differences between metrics on the human ratings of CLAIMED.

        Simulated ratings are left out because they support no claim.
        """
        labels = [label for label in self._labels() if label in CLAIMED and not self._is_simulated(label)]
        return Needs({"differences": self._tables("differences", labels)}, self._params(labels))

    def _labels(self) -> list[str]:
        """Return the paper's labels of the judgements in the block, in the paper's order."""
        named = sets_of(self.block)
        return [label for labels in TABLES.values() for label in labels if label in named]

    def _tables(self, table: str, labels: list[str]) -> list[str]:
        sets = sets_of(self.block)
        return [paths.judgements(table, sets[label]) for label in labels]

    def _params(self, labels: list[str]) -> dict[str, Any]:
        return {"labels": labels, "simulated": [label for label in labels if self._is_simulated(label)]}

    def _is_simulated(self, label: str) -> bool:
        return any(self.lab.judgements.simulated(name) for name in listed(self.block["judgements"][label]))

    @staticmethod
    def mistakes(config: Block, where: str, block: Block) -> Iterator[str]:
        """Yield messages on sets of judgements without CLIPScore by the encoder, of the wrong kind, or named twice."""
        readers = declared("judgements.readers", JudgementReader, "read")
        labels: dict[str, str] = {}
        named = ((label, name) for label, names in block["judgements"].items() for name in listed(names))
        for label, name in named:
            if block["encoder"] not in config["judgements"][name]["clipscore"]:
                yield (
                    f"{where}.encoder is {block['encoder']!r}, which gives no CLIPScore to judgements.{name}; "
                    "add it there to clipscore"
                )
            if readers[config["judgements"][name]["reader"]].ratings != (label in RATED):
                kinds = ("ratings", "pairs") if label in RATED else ("pairs", "ratings")
                yield (
                    f"{where}.judgements.{label} is {name!r}, a set of {kinds[1]} of captions; {label} has {kinds[0]}, "
                    f"so name a set of {kinds[0]}"
                )
            if (other := labels.setdefault(name, label)) != label:
                yield f"{where}.judgements has {name!r} as {other} and as {label}; name it once"


PAPER = Clipscore
