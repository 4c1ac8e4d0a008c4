"""What the tables and figures of the scenes paper read of a run."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from captionlab.ablation.schemas import ABLATED
from captionlab.papers.scenes.captions import Change, Examples, drawn_examples, first_changes
from captionlab.papers.scenes.probes import ProbedImages
from captionlab.papers.scenes.run import ScenesRun
from captionlab.probes.schemas import read_encodings
from captionlab.reporting.reading import Path, read_by, read_measured
from captionlab.reporting.runs import Row
from captionlab.reporting.thumbnails import thumbnail
from captionlab.roles import ROLES
from captionlab.schemas import IMAGES
from captionlab.tables import read_table


@dataclass(frozen=True)
class Pages:
    """What is shown of both captioners and of images.

    captions: rows of ABLATED by role; objects: the largest number that was removed; splits: by image; examples: of
    Figure 2, and of Table 8; pictures: small PNGs of the images of these and of the changes, by image.
    """

    captions: Mapping[str, Sequence[Row]]
    objects: int
    splits: Mapping[str, str]
    examples: tuple[Examples, Examples]
    changes: list[Change]
    pictures: Mapping[str, bytes]
    probed: ProbedImages


def read_run(inputs: Row, params: Row) -> ScenesRun:
    """The run, from the files and parameters of a job of the paper."""
    return ScenesRun(*read_measured(inputs), params["config"]["comparable"], params["job"])


def read_pages(inputs: Row, params: Row) -> Pages:
    """The same, with examples drawn by the job's seed."""
    captions = read_by(ROLES, inputs["captions"], ABLATED)
    objects = max((row["objects"] for rows in captions.values() for row in rows), default=0)
    splits = read_splits(inputs["images"][0], inputs["training_images"][0])
    of_objects, of_scenes = (_read_described(inputs[name][0]) for name in ("object_captions", "scene_captions"))
    examples = drawn_examples(captions, of_objects, of_scenes, splits, params["seed"])
    changes = first_changes(captions, objects)
    shown = pa.array([one.image for of in (*examples, changes) for one in of], pa.string())
    table = read_table(inputs["images"], IMAGES, ["image_id", "path", "data"])
    chosen = table.filter(pc.is_in(table["image_id"], value_set=shown)).to_pylist()
    pictures, probed = {row["image_id"]: thumbnail(row) for row in chosen}, read_probed(inputs["encodings"][0], splits)
    return Pages(captions, objects, splits, examples, changes, pictures, probed)


def read_splits(images: Path, training: Path) -> dict[str, str]:
    """The split of each image of a corpus: that which it has in the corpus that is trained on, if it is there.

    A validation part that is drawn of a published training part is one there only.
    """
    tables = (read_table(path, IMAGES, ["image_id", "split"]).to_pylist() for path in (images, training))
    own, trained = ({row["image_id"]: row["split"] for row in rows} for rows in tables)
    return {image: trained.get(image, split) for image, split in own.items()}


def read_probed(encodings: Path, splits: Mapping[str, str]) -> ProbedImages:
    """The images of a table of encodings, and what of them is known beside; splits: by image."""
    of_numbers, scenes = read_encodings(encodings)
    whole, ablated = of_numbers[min(of_numbers)], of_numbers[max(of_numbers)]
    unchanged = int((whole == ablated).all(axis=1).sum())
    return ProbedImages(Counter(scenes.values()), Counter(splits[image] for image in scenes), unchanged)


def _read_described(path: Path) -> dict[str, list[str]]:
    """What people wrote of each image, from a table of captions or of scene captions."""
    found = defaultdict(list)
    for row in pq.read_table(path, columns=["image_id", "caption"]).to_pylist():
        found[row["image_id"]].append(row["caption"])
    return found
