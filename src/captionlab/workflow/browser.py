"""The results browser: which tables of captions, scores and corpora it shows."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from captionlab import paths
from captionlab.workflow.basis import Basis
from captionlab.workflow.blocks import Block, captioner_kind

PAGE = "resources/browser"
# Tables of a corpus, by the name of the input.
OF_CORPUS = {
    "images": "images",
    "captions_of_corpora": "captions",
    "objects": "objects",
    "scenes": "scene_captions",
}


class Browser:
    """What the browser of a config shows: captions that have scores.

    `tables`: tables of scores by name. `captions`: those that they score. `factors`: what scores are printed times.
    """

    def __init__(self, basis: Basis, tables: Mapping[str, list[str]], captions: Sequence[str], factors: Block):
        self.basis, self.tables, self.captions, self.factors = basis, tables, captions, factors
        self.places = sorted({paths.captioner_of(path)[::-1] for path in captions})

    def page(self) -> list[str]:
        """The files of the page itself."""
        files = sorted(path.name for path in Path(self.basis.root, PAGE).iterdir())
        return [self.basis.shipped(f"{PAGE}/{name}") for name in files]

    def evaluations(self) -> Block:
        """Of each evaluation its captioners and corpora, how captions were decoded, and where candidates come from."""
        found: Block = {}
        for name in dict.fromkeys(evaluation for evaluation, _ in self.places):
            block = self.basis.evaluations[name]
            found[name] = {
                "captioners": [one for one in block["captioners"] if (name, one) in self.places],
                "corpora": list(block["corpora"]),
                "decoding": block.get("decoding", "given"),
                "candidates": block["candidates"],
                "seed": self.basis.config["seed"] if block["candidate_sets"] == "random" else 0,
            }
        return found

    def corpora(self) -> list[str]:
        """The corpora of these evaluations."""
        return list(dict.fromkeys(corpus for block in self.evaluations().values() for corpus in block["corpora"]))

    def captioners(self) -> Block:
        """Of each captioner its parent and family, and the corpora that it and its ancestors learnt from here."""
        return {
            name: {
                "parent": self.basis.captioners[name].get("parent"),
                "family": self.basis.family(name),
                "trained": self._trained(name),
            }
            for name in sorted({captioner for _, captioner in self.places})
        }

    def inputs(self) -> dict[str, Any]:
        """Captions, scores, and tables of the corpora that captions are of and that captioners learnt from."""
        of_corpora = {
            name: [paths.corpus(table, corpus) for corpus in self.corpora()] for name, table in OF_CORPUS.items()
        }
        training = {
            f"training_{table}": [paths.corpus(table, corpus) for corpus in self.training()]
            for table in ("images", "captions")
        }
        return {"captions": self.captions, **self.tables, **of_corpora, **training}

    def params(self) -> Block:
        """What the page depends on beside."""
        return {
            "tables": list(self.tables),
            "evaluations": self.evaluations(),
            "corpora": self.corpora(),
            "splits": {corpus: self.basis.evaluation_split(corpus) for corpus in self.corpora()},
            "captioners": self.captioners(),
            "training": self.training(),
            "factors": self.factors,
        }

    def training(self) -> list[str]:
        """All corpora that captioners learnt from."""
        return sorted({corpus for block in self.captioners().values() for corpus in block["trained"]})

    def _trained(self, captioner: str) -> list[str]:
        """Those of one and its ancestors; none where the first of these came from elsewhere."""
        line = [self.basis.captioners[captioner]]
        while "parent" in line[-1]:
            line.append(self.basis.captioners[line[-1]["parent"]])
        if captioner_kind(line[-1]) != "pretrained":
            return []
        return list(dict.fromkeys(block["corpus"] for block in line if "corpus" in block))
