"""Values of a run for the paper, with roles of captioners as subjects on its corpora."""

from collections.abc import Iterable, Mapping, Sequence
from typing import get_args

from captionlab.config.papers import listed
from captionlab.evaluation.metrics.retrieval.metric import BAGS
from captionlab.papers.d3.config import Captions, OfCorpus, Training
from captionlab.reporting.runs.links import captions_link
from captionlab.reporting.runs.published import Published
from captionlab.reporting.runs.values import Coordinates, PaperRun, Row

# Share of captions that find their image among the candidates that the evaluation names, and similarity to references.
FOUND, SIMILAR = "P@1", "CIDEr"


def roles_of(captioners: Mapping[str, Mapping[str, str | list[str]]]) -> dict[str, list[str]]:
    """Return the trainings of each role, in the order of the paper: `COCO SR`, `HolisticCap BagCurri`."""
    return {
        f"{captions} {training}": listed(captioners[captions][training])
        for captions in get_args(Captions)
        for training in get_args(Training)
        if training in captioners.get(captions, {})
    }


def bag_measures(measures: Iterable[str]) -> list[str]:
    """Return the measures of retrieval in bags, the smallest bags first."""
    return sorted({one for one in measures if one.startswith(BAGS)}, key=lambda one: int(one.removeprefix(BAGS)))


class D3Run(PaperRun):
    """A run with its roles and corpora in the paper's order.

    `cells` has the captioner and evaluation of each role on each corpus, for links to captions.
    """

    def __init__(
        self, values: Iterable[Row], differences: Iterable[Row], published: Published, block: Row, cells: Sequence[Row]
    ):
        corpora = {label: block["corpora"][label] for label in get_args(OfCorpus) if label in block["corpora"]}
        super().__init__(values, differences, published, block["comparable"], corpora)
        self.corpora = corpora
        self.roles = roles_of(block["captioners"])
        self._cells = {(cell["role"], cell["corpus"]): cell["job"] for cell in reversed(cells)}

    def link(self, place: Coordinates, against: str | None = None) -> str:
        """Return the address of the captions of a role's first training, empty if there is none."""
        if job := self._cells.get((place.subject, place.corpus)):
            bags = place.measure if place.measure.startswith(BAGS) else None
            metric = FOUND if bags else place.measure
            return captions_link(place.corpus, job["captioner"], job["evaluation"], metric, place.scorer, bags)
        return ""
