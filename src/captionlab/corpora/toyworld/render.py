"""Renders a corpus of the toy world and writes its tables."""

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from random import Random
from typing import Any

from captionlab.corpora.toyworld.backdrops import BACKDROPS
from captionlab.corpora.toyworld.captions import captions_of, scene_captions_of
from captionlab.corpora.toyworld.domains import Domain, domain_named
from captionlab.corpora.toyworld.drawing import draw, encode
from captionlab.corpora.toyworld.lookalikes import sample_lookalikes
from captionlab.corpora.toyworld.world import LOOKALIKES, SIDE, Picture, sample_picture
from captionlab.schemas import CAPTIONS, IMAGES, OBJECTS, REJECTS, SCENE_CAPTIONS
from captionlab.tables import TableSchema, TableWriter

_TABLES: Mapping[str, TableSchema] = {
    "images": IMAGES,
    "captions": CAPTIONS,
    "objects": OBJECTS,
    "scene_captions": SCENE_CAPTIONS,
    "rejects": REJECTS,
}
# Images that are held in memory before they are written.
_BATCH = 2048


@dataclass(frozen=True)
class ToyImage:
    """A rendered image with all that is known about it; `picture` is the composition it was drawn from."""

    image_id: str
    split: str
    position: int
    data: bytes
    image_set: str | None
    captions: list[str]
    scene_captions: list[tuple[str, float]]
    picture: Picture
    width: int = SIDE
    height: int = SIDE

    @property
    def scene(self) -> str:
        """Name of the scene."""
        return self.picture.scene

    @property
    def objects(self) -> list[tuple[str, tuple[int, int, int, int], list[str]]]:
        """Class, box (x1, y1, x2, y2 in pixels) and attributes (colour, size) of every single object."""
        left, top, right, bottom = self.picture.frame or (0, 0, SIDE, SIDE)
        across, down = SIDE / (right - left), SIDE / (bottom - top)

        def in_image(box: tuple[int, int, int, int]) -> tuple[int, int, int, int]:
            x1, y1, x2, y2 = box
            return (
                round((x1 - left) * across),
                round((y1 - top) * down),
                round((x2 - left) * across),
                round((y2 - top) * down),
            )

        return [(t.label, in_image(box), [t.colour, t.size]) for t in self.picture.things for box in t.boxes]


def render(domain: str, seed: int, images: Mapping[str, int]) -> Iterator[ToyImage]:
    """Render so many images per split, in the order of the mapping.

    An image depends on the seed, the name of its split and its rank there, not on how many images are asked for. A
    ValueError tells when there is no such domain, or a number of images that the domain cannot give.
    """
    settings = domain_named(domain)
    in_sets = settings.style == "distinction"
    for split, number in images.items():
        if number < 0 or (in_sets and number % LOOKALIKES):
            wanted = f"a multiple of {LOOKALIKES}, the size of a set" if in_sets else "at least 0"
            raise ValueError(f"toy domain {domain!r}: the number of {split} images must be {wanted}, not {number}")
    position = 0
    for split, number in images.items():
        for rank, (picture, captions, image_set) in enumerate(_compose(domain, settings, seed, split, number)):
            image_id = f"{split}-{rank:06d}"
            random = Random(f"{settings.pictures}/{seed}/{split}/{rank}/scenes")
            scene_captions = scene_captions_of(picture, random)
            captions = captions or [caption for caption, _ in scene_captions]
            data = encode(draw(picture))
            yield ToyImage(image_id, split, position, data, image_set, captions, scene_captions, picture)
            position += 1


def _compose(
    domain: str, settings: Domain, seed: int, split: str, number: int
) -> Iterator[tuple[Picture, list[str], str | None]]:
    """Picture, captions (none where scene captions stand for them) and look-alike set of every image of a split."""
    stream = f"{settings.pictures}/{seed}/{split}"
    if settings.style == "distinction":
        for rank in range(number // LOOKALIKES):
            for picture, caption in sample_lookalikes(settings, Random(f"{stream}/{rank}"), BACKDROPS):
                yield picture, [caption], f"{split}-set-{rank:05d}"
    else:
        for rank in range(number):
            picture = sample_picture(settings, Random(f"{stream}/{rank}"), BACKDROPS)
            # Captions have a stream of their own, so that two domains can describe the same picture.
            stream_of_captions = Random(f"{domain}/{seed}/{split}/{rank}/captions")
            in_scenes = settings.style == "scene"
            yield picture, [] if in_scenes else captions_of(picture, settings, stream_of_captions), None


def write_corpus(toy_images: Iterable[ToyImage], paths: Mapping[str, str | os.PathLike[str]]) -> None:
    """Write the five tables of a corpus (images, captions, objects, scenes, rejects), a batch of images at a time."""
    with ExitStack() as stack:
        writers = {name: stack.enter_context(TableWriter(paths[name], kind)) for name, kind in _TABLES.items()}
        batch: list[ToyImage] = []
        for toy_image in toy_images:
            batch.append(toy_image)
            if len(batch) == _BATCH:
                _write_batch(batch, writers)
                batch = []
        # Also when it is empty: a table without rows is a table.
        _write_batch(batch, writers)


def _write_batch(batch: list[ToyImage], writers: Mapping[str, TableWriter]) -> None:
    rows: dict[str, list[dict[str, Any]]] = {name: [] for name in _TABLES}
    for image in batch:
        rows["images"].append(
            {
                "image_id": image.image_id,
                "position": image.position,
                "split": image.split,
                "path": None,
                "data": image.data,
                "width": image.width,
                "height": image.height,
                "image_set": image.image_set,
            }
        )
        for index, caption in enumerate(image.captions):
            rows["captions"].append({"image_id": image.image_id, "caption_index": index, "caption": caption})
        for index, (label, (x1, y1, x2, y2), attributes) in enumerate(image.objects):
            box = {"x1": x1, "y1": y1, "x2": x2, "y2": y2}
            names = {"image_id": image.image_id, "object_index": index, "label": label, "attributes": attributes}
            rows["objects"].append(names | box)
        for index, (caption, confidence) in enumerate(image.scene_captions):
            answer = {"scene_index": index, "caption": caption, "scene": image.scene, "confidence": confidence}
            rows["scene_captions"].append({"image_id": image.image_id} | answer)
    for name, kind in _TABLES.items():
        writers[name].write({column: [row[column] for row in rows[name]] for column in kind.columns})
