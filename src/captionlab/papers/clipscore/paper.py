"""The block `papers.clipscore` of a config: which judgements stand for the paper's, and whose CLIPScore for its own."""

from collections.abc import Iterator
from typing import Any

from captionlab import paths
from captionlab.reporting.paper import Block, Needs, Paper

# By the paper's label of judgements.
TABLES = {"Flickr8k-Expert": "table1_expert", "Flickr8k-CF": "table2_cf"}


class Clipscore(Paper):
    """Hessel et al. 2021."""

    name = "clipscore"
    citation = "Hessel et al. 2021, *CLIPScore: A Reference-free Evaluation Metric for Image Captioning*"

    def tables(self) -> list[str]:
        """One for each set of judgements that the block names."""
        return [f"{self.name}_{TABLES[label]}" for label in self._labels()]

    def tabulated(self) -> Needs:
        """How metrics agree with each set of judgements, and how far they are apart."""
        labels = self._labels()
        inputs = {table: self._tables(table, labels) for table in ("correlations", "differences")}
        return Needs(inputs, self._params(labels), mem_mb=2000, runtime=10)

    def judged(self) -> Needs:
        """The differences between metrics on judgements of people: simulated ones bear out nothing."""
        labels = [label for label in self._labels() if not self._is_simulated(label)]
        return Needs({"differences": self._tables("differences", labels)}, self._params(labels))

    def _labels(self) -> list[str]:
        """The paper's labels of the judgements, in its order."""
        return [label for label in TABLES if label in self.block.get("judgements", {})]

    def _tables(self, table: str, labels: list[str]) -> list[str]:
        return [paths.judgements(table, self.block["judgements"][label]) for label in labels]

    def _params(self, labels: list[str]) -> dict[str, Any]:
        return {"labels": labels, "simulated": [label for label in labels if self._is_simulated(label)]}

    def _is_simulated(self, label: str) -> bool:
        return bool(self.lab.judgements.simulated(self.block["judgements"][label]))

    @staticmethod
    def mistakes(config: Block, where: str, block: Block) -> Iterator[str]:
        """Judgements whose captions the encoder does not score."""
        for name in block["judgements"].values():
            if block["encoder"] not in config["judgements"][name]["clipscore"]:
                yield (
                    f"{where}.encoder is {block['encoder']!r}, which gives no CLIPScore to judgements.{name}; "
                    "add it there to clipscore"
                )


PAPER = Clipscore
