"""Which images of a corpus are the same in two runs."""

from collections import defaultdict
from collections.abc import Hashable, Mapping
from functools import cache
from hashlib import blake2b
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from captionlab.side_by_side.runs import FinishedRun
from captionlab.storage import paths
from captionlab.storage.row_groups import Groups
from captionlab.storage.schemas import CAPTIONS, IMAGES

TABLES = ("images", "captions")


@cache
def why_different(run: FinishedRun, other: FinishedRun, corpus: str, split: str) -> str:
    """Return why the images of a split or their references are not the same in two runs; empty if they are.

    Images whose corpora have different digests are compared by id, size, reference captions and, if the table holds the
    image itself, its content.
    """
    for one in (run, other):
        for name in (paths.corpus(table, corpus) for table in TABLES):
            if not one.file(name).is_file():
                return f"{one.name} has no {name}, so whether it has the same images is not known"
    if all(_alike(run, other, paths.corpus(table, corpus)) for table in TABLES):
        return ""
    images, others = (images_of(one, corpus, split) for one in (run, other))
    if images == others:
        return ""
    same = sum(images[name] == others[name] for name in images.keys() & others.keys())
    return (
        f"{corpus} is not the same in {run.name} and {other.name}: {same} of {len(images)} and {len(others)} images "
        f"of the split {split} are the same, with the same references"
    )


def _alike(run: FinishedRun, other: FinishedRun, name: str) -> bool:
    """Return whether a file has the same digest in the provenance of two runs."""
    return name in run.digests and run.digests[name] == other.digests.get(name)


@cache
def images_of(run: FinishedRun, corpus: str, split: str) -> Mapping[str, Hashable]:
    """Return the id of each image of a split, with all that makes it the same image in another run."""
    return _identities(run.file(paths.corpus("images", corpus)), run.file(paths.corpus("captions", corpus)), split)


def _identities(images: Path, captions: Path, split: str) -> dict[str, Hashable]:
    """Return size, look-alike set, digest of the content and references of each image of a split, by its id."""
    found: dict[str, tuple[Hashable, ...]] = {}
    columns = ["image_id", "split", "width", "height", "image_set", "data"]
    for part in Groups([images], IMAGES, columns).parts():
        for row in part.filter(pc.equal(part["split"], split)).to_pylist():
            content = row["data"] and blake2b(row["data"], digest_size=16).digest()
            found[row["image_id"]] = row["width"], row["height"], row["image_set"], content
    ids, references = pa.array([*found], pa.string()), defaultdict[str, list[str]](list)
    for part in Groups([captions], CAPTIONS, ["image_id", "caption"]).parts():
        rows = part.filter(pc.is_in(part["image_id"], value_set=ids))
        for image, caption in zip(rows["image_id"].to_pylist(), rows["caption"].to_pylist(), strict=True):
            references[image].append(caption)
    return {image: (*facts, tuple(references[image])) for image, facts in found.items()}
