"""Values of a run for the paper, with models as subjects on the corpus of each axis."""

from collections.abc import Iterable, Sequence

from captionlab.reporting.runs.links import captions_link
from captionlab.reporting.runs.published import Published
from captionlab.reporting.runs.reproduction import in_order
from captionlab.reporting.runs.values import Coordinates, PaperRun, Row

# The paper's metrics, in its order.
MEASURES = ("CIDEr", "SacreBLEU", "ROUGE-L")
TABLE = "baselines"


class HlRun(PaperRun):
    """A run with its models, and its corpora by axis, in the paper's order.

    `cells` has the captioner and evaluation of each number, for links to captions.
    """

    def __init__(
        self, values: Iterable[Row], differences: Iterable[Row], published: Published, block: Row, cells: Sequence[Row]
    ):
        axes = in_order(block["corpora"], published.columns(TABLE))
        super().__init__(values, differences, published, block["comparable"], block["corpora"])
        self.corpora = {axis: block["corpora"][axis] for axis in axes}
        self.models = in_order(block["models"], published.rows(TABLE))
        self._jobs = {(cell["model"], cell["corpus"]): cell["job"] for cell in reversed(cells)}

    def link(self, place: Coordinates, against: str | None = None) -> str:
        """Return the address of the captions of a model's first training, empty if there is none."""
        if job := self._jobs.get((place.subject, place.corpus)):
            return captions_link(place.corpus, job["captioner"], job["evaluation"], place.measure)
        return ""
