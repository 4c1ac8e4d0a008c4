"""What the tables and figures of the scenes paper read of a run."""

import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from captionlab.ablation.schemas import ABLATED
from captionlab.evaluation.schemas import ROLE_DIFFERENCES, ROLE_VALUES
from captionlab.papers.scenes.probes import ProbedImages
from captionlab.papers.scenes.run import ScenesRun
from captionlab.probes.tables import read_encodings
from captionlab.reporting.published import read_published
from captionlab.reporting.thumbnails import thumbnail
from captionlab.roles import ROLES
from captionlab.schemas import IMAGES
from captionlab.tables import read_table

Path = str | os.PathLike[str]
Row = Mapping[str, Any]


def read_run(inputs: Mapping[str, Any], params: Mapping[str, Any]) -> ScenesRun:
    """The run, from the files and parameters of a job of the paper."""
    return ScenesRun(
        read_table(inputs["values"], ROLE_VALUES).to_pylist(),
        read_table(inputs["differences"], ROLE_DIFFERENCES).to_pylist(),
        read_published(inputs["published"]),
        params["config"]["comparable"],
        params["job"],
    )


def read_captions(paths: Sequence[Path]) -> dict[str, list[Row]]:
    """Rows of ABLATED by role."""
    return {role: read_table(path, ABLATED).to_pylist() for role, path in zip(ROLES, paths, strict=True)}


def read_described(path: Path) -> dict[str, list[str]]:
    """What people wrote of each image, from a table of captions or of scene captions."""
    found: dict[str, list[str]] = {}
    rows = pq.read_table(path, columns=["image_id", "caption"]).to_pydict()
    for image, caption in zip(rows["image_id"], rows["caption"], strict=True):
        found.setdefault(image, []).append(caption)
    return found


def ablated_objects(captions: Mapping[str, Sequence[Row]]) -> int:
    """The largest number of objects that were removed."""
    return max((row["objects"] for rows in captions.values() for row in rows), default=0)


def read_splits(images: Path, training: Path) -> dict[str, str]:
    """The split of each image of a corpus: that which it has in the corpus that is trained on, if it is there.

    A validation part that is drawn of a published training part is one there only.
    """
    own, trained = (read_table(path, IMAGES, ["image_id", "split"]).to_pydict() for path in (images, training))
    of_training = dict(zip(trained["image_id"], trained["split"], strict=True))
    return {image: of_training.get(image, split) for image, split in zip(own["image_id"], own["split"], strict=True)}


def read_probed(encodings: Path, splits: Mapping[str, str]) -> ProbedImages:
    """The images of a table of encodings, and what of them is known beside; splits: by image."""
    of_numbers, scenes = read_encodings(encodings)
    whole, ablated = of_numbers[min(of_numbers)], of_numbers[max(of_numbers)]
    return ProbedImages(
        dict(Counter(scenes.values())),
        dict(Counter(splits[image] for image in scenes)),
        int((whole == ablated).all(axis=1).sum()),
    )


def read_pictures(images: Path, ids: Iterable[str]) -> dict[str, bytes]:
    """Small PNGs of some images."""
    table = read_table(images, IMAGES, ["image_id", "path", "data"])
    chosen = table.filter(pc.is_in(table["image_id"], value_set=pa.array([*ids], pa.string())))
    return {row["image_id"]: thumbnail(row) for row in chosen.to_pylist()}
