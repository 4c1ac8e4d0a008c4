"""Input data of the tables and figures of the scenes paper."""

from collections import Counter, defaultdict
from collections.abc import Mapping
from functools import cached_property

import pyarrow.parquet as pq

from captionlab.ablation.schemas import ABLATED
from captionlab.attention.schemas import MATRICES
from captionlab.config.roles import ROLES
from captionlab.images.locations import LOCATION
from captionlab.papers.scenes.captions import Change, Examples, drawn_examples, first_changes
from captionlab.papers.scenes.probes import ProbedImages
from captionlab.papers.scenes.values import ScenesRun
from captionlab.probes.schemas import read_encodings
from captionlab.reporting.claims.reading import Path, Rows, read_by, read_measured
from captionlab.reporting.runs.values import Row
from captionlab.reporting.tables.thumbnails import thumbnail
from captionlab.storage.row_groups import read_chosen
from captionlab.storage.schemas import IMAGES
from captionlab.storage.tables import read_table


def read_run(inputs: Row, params: Row) -> ScenesRun:
    """Return the run, from the files and parameters of a job of the paper."""
    return ScenesRun(*read_measured(inputs), params["config"]["comparable"], params["job"])


class Pages:
    """Data on both captioners and on images, read when first used. Examples are drawn by the job's seed.

    `inputs` and `params` are the files and parameters of a job of the paper.
    """

    def __init__(self, inputs: Row, params: Row):
        self.inputs, self.seed = inputs, params["seed"]

    @cached_property
    def captions(self) -> Mapping[str, Rows]:
        """Rows of ABLATED by role."""
        return read_by(ROLES, self.inputs["captions"], ABLATED)

    @cached_property
    def objects(self) -> int:
        """The largest number of objects that was removed."""
        return max((row["objects"] for rows in self.captions.values() for row in rows), default=0)

    @cached_property
    def splits(self) -> dict[str, str]:
        """The split of each image."""
        return read_splits(self.inputs["images"], self.inputs["training_images"])

    @cached_property
    def matrices(self) -> Mapping[str, Rows]:
        """Rows of MATRICES by role."""
        return read_by(ROLES, self.inputs["matrices"], MATRICES)

    @cached_property
    def examples(self) -> tuple[Examples, Examples]:
        """The examples of Figure 2, and the examples of Table 8."""
        of_objects, of_scenes = (_read_described(self.inputs[f"{what}_captions"]) for what in ("object", "scene"))
        shown: dict[str, dict[str, str]] = defaultdict(dict)
        for role, rows in self.matrices.items():
            for row in rows:
                shown[row["image_id"]][role] = row["caption"]
        return drawn_examples(self.captions, shown, of_objects, of_scenes, self.splits, self.seed)

    @cached_property
    def attended(self) -> str | None:
        """The image of Figures 3 and 11: the image of Figure 2 or, if there is none, the first image with a matrix."""
        of_figure, _ = self.examples
        images = [one.image for one in of_figure]
        images += [row["image_id"] for rows in self.matrices.values() for row in rows]
        return next(iter(images), None)

    @cached_property
    def changes(self) -> list[Change]:
        """Scene captions that change when objects of their images are removed."""
        return first_changes(self.captions, self.objects)

    @cached_property
    def probed(self) -> ProbedImages:
        """Counts of the images of the probes."""
        return read_probed(self.inputs["encodings"], self.splits)

    @cached_property
    def pictures(self) -> dict[str, bytes]:
        """Small PNGs of the images of examples and changes, by image."""
        wanted = {one.image for of in (*self.examples, self.changes) for one in of}
        chosen = read_chosen(self.inputs["images"], IMAGES, ["image_id", *LOCATION], wanted)
        return {row["image_id"]: thumbnail(row) for row in chosen.to_pylist()}


def read_splits(images: Path, training: Path) -> dict[str, str]:
    """Return the split of each image of a corpus, as in the corpus of the training if the image is there.

    A validation split that was drawn from a published training split exists only in the corpus of the training.
    """
    tables = (read_table(path, IMAGES, ["image_id", "split"]).to_pylist() for path in (images, training))
    own, trained = ({row["image_id"]: row["split"] for row in rows} for rows in tables)
    return {image: trained.get(image, split) for image, split in own.items()}


def read_probed(encodings: Path, splits: Mapping[str, str]) -> ProbedImages:
    """Return counts of the images of a table of encodings. `splits` maps an image to its split."""
    of_numbers, scenes = read_encodings(encodings)
    whole, ablated = of_numbers[min(of_numbers)], of_numbers[max(of_numbers)]
    unchanged = int((whole == ablated).all(axis=1).sum())
    return ProbedImages(Counter(scenes.values()), Counter(splits[image] for image in scenes), unchanged)


def _read_described(path: Path) -> dict[str, list[str]]:
    """Return the human captions of each image, from a table of captions or of scene captions."""
    found = defaultdict(list)
    for row in pq.read_table(path, columns=["image_id", "caption"]).to_pylist():
        found[row["image_id"]].append(row["caption"])
    return found
