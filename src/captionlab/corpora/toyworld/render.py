"""Rendering of a corpus of the toy world and writing of its tables."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from random import Random

from captionlab.corpora.tables import corpus_tables
from captionlab.corpora.toyworld.captions import captions_of, scene_captions_of
from captionlab.corpora.toyworld.domains import DOMAINS, Domain
from captionlab.corpora.toyworld.drawing import draw, encode
from captionlab.corpora.toyworld.lookalikes import sample_lookalikes
from captionlab.corpora.toyworld.world import LOOKALIKES, SIDE, Picture, sample_picture
from captionlab.images.locations import ImageLocation

# Number of images that are held in memory before they are written.
_BATCH = 2048


@dataclass(frozen=True)
class ToyImage:
    """A rendered image with its annotations; `picture` is the composition from which it was drawn."""

    image_id: str
    split: str
    position: int
    data: bytes
    image_set: str | None
    captions: list[str]
    scene_captions: list[tuple[str, float]]
    picture: Picture

    @property
    def scene(self) -> str:
        """Return the name of the scene."""
        return self.picture.scene

    @property
    def objects(self) -> list[tuple[str, tuple[int, int, int, int], list[str]]]:
        """Return the class, box (x1, y1, x2, y2 in pixels) and attributes (colour, size) of each object."""
        left, top, right, bottom = self.picture.frame or (0, 0, SIDE, SIDE)
        across, down = SIDE / (right - left), SIDE / (bottom - top)
        found = []
        for thing in self.picture.things:
            for x1, y1, x2, y2 in thing.boxes:
                x1, x2 = (round((x - left) * across) for x in (x1, x2))
                y1, y2 = (round((y - top) * down) for y in (y1, y2))
                found.append((thing.label, (x1, y1, x2, y2), [thing.colour, thing.size]))
        return found


def render(domain: str, seed: int, images: Mapping[str, int]) -> Iterator[ToyImage]:
    """Render the requested number of images per split, in the order of the mapping `images`.

    An image depends on the seed, the name of its split and its rank in the split. It does not depend on the number of
    images. Raises ValueError if the domain is unknown or if a number of images is negative. Domains of look-alike sets
    also raise ValueError if a number of images is not a multiple of LOOKALIKES.
    """
    if domain not in DOMAINS:
        raise ValueError(f"the toy world has no domain {domain!r}; it has {', '.join(DOMAINS)}")
    settings = DOMAINS[domain]
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
    """Yield picture, captions and look-alike set of each image of a split.

    The list of captions is empty if scene captions are used instead.
    """
    stream = f"{settings.pictures}/{seed}/{split}"
    if settings.style == "distinction":
        for rank in range(number // LOOKALIKES):
            for picture, caption in sample_lookalikes(settings, Random(f"{stream}/{rank}")):
                yield picture, [caption], f"{split}-set-{rank:05d}"
    else:
        for rank in range(number):
            picture = sample_picture(settings, Random(f"{stream}/{rank}"))
            # Captions have a random stream of their own, so that two domains can describe the same picture.
            stream_of_captions = Random(f"{domain}/{seed}/{split}/{rank}/captions")
            in_scenes = settings.style == "scene"
            yield picture, [] if in_scenes else captions_of(picture, settings, stream_of_captions), None


def write_corpus(toy_images: Iterable[ToyImage], paths: Mapping[str, Path]) -> None:
    """Write the five tables of a corpus (images, captions, objects, scene captions, rejects) in batches of images."""
    with corpus_tables(paths) as tables:
        for number, image in enumerate(toy_images, 1):
            place = (image.image_id, image.position, image.split)
            tables["images"].append(*place, *ImageLocation(data=image.data), SIDE, SIDE, image.image_set)
            for index, caption in enumerate(image.captions):
                tables["captions"].append(image.image_id, index, caption)
            for index, (label, box, attributes) in enumerate(image.objects):
                tables["objects"].append(image.image_id, index, label, *box, attributes)
            for index, (caption, confidence) in enumerate(image.scene_captions):
                tables["scene_captions"].append(image.image_id, index, caption, image.scene, confidence)
            if number % _BATCH == 0:
                for rows in tables.values():
                    rows.flush()
