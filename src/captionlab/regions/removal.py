"""Images without some of their objects (Cafagna et al. 2022, §6.1)."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from captionlab.regions.tagged_images import TaggedImages
from captionlab.regions.tagged_regions import TaggedRegions


@dataclass(frozen=True)
class Sample:
    """An image of a scene, and the labels of the objects to be removed from it."""

    image: str
    scene: str
    labels: tuple[str, ...]


def samples(
    scenes: Mapping[str, Iterable[str]],
    diagnostic: Mapping[str, Sequence[str]],
    objects: Mapping[str, Iterable[str]],
    number: int,
) -> list[Sample]:
    """The images that depict a scene and contain all of its `number` most diagnostic objects.

    `scenes` has the images of each scene, `diagnostic` its objects, the most diagnostic first, and `objects` those in
    each image. A scene with fewer objects has no sample; an image of two scenes may be two samples.
    """
    return [
        Sample(image, scene, tuple(diagnostic[scene][:number]))
        for scene, images in scenes.items()
        if len(diagnostic.get(scene, ())) >= number
        for image in images
        if {*diagnostic[scene][:number]} <= {*objects.get(image, ())}
    ]


def with_objects(
    classes: Mapping[str, str],
    diagnostic: Mapping[str, Sequence[str]],
    objects: Mapping[str, Iterable[str]],
    number: int,
) -> dict[str, str]:
    """Of images, each with its scene, those that are samples of so many objects; the rest as in `samples`."""
    return {image: of for image, of in classes.items() if samples({of: [image]}, diagnostic, objects, number)}


class Removal:
    """Images without objects: their tags, and the regions that show them."""

    def __init__(
        self, images: TaggedImages, matches: Iterable[tuple[str, int, int]], padding: int = 0, closed: bool = False
    ):
        """`matches` are image, region and tag, for each region that shows a tagged object; the rest as in `remove`."""
        self.images, self.padding, self.closed = images, padding, closed
        self.regions: dict[tuple[str, int], list[int]] = {}
        for image, region, tag in matches:
            self.regions.setdefault((image, tag), []).append(region)

    def without(self, images: Sequence[str], labels: Sequence[Collection[str]]) -> TaggedRegions:
        """These images, each without the objects of some labels; nothing is removed for labels that are not there."""
        visual, owners = self.images.rows(images), self.images.owners(images)
        pieces, regions = torch.zeros_like(visual.tag_mask), torch.zeros_like(visual.region_mask)
        for row, (image, removed) in enumerate(zip(images, labels, strict=True)):
            for number, tag in enumerate(self.images.tags.get(image, [])):
                if tag.label in removed:
                    pieces[row] |= owners[row] == number
                    regions[row, self.regions.get((image, number), [])] = True
        return remove(visual, pieces, regions, self.padding, self.closed)


def remove(
    visual: TaggedRegions, pieces: Tensor, regions: Tensor, padding: int = 0, closed: bool = False
) -> TaggedRegions:
    """The same images without some word pieces of tags (B, L) and some regions (B, R).

    Pieces become `padding`, the id of [PAD], and regions zeros. They can still be attended to, as where a text is
    replaced before it is read; with `closed` they cannot.
    """
    tag_mask, region_mask = visual.tag_mask, visual.region_mask
    if closed:
        tag_mask, region_mask = tag_mask & ~pieces, region_mask & ~regions
    tags, features = visual.tags.masked_fill(pieces, padding), visual.regions.masked_fill(regions[:, :, None], 0.0)
    return TaggedRegions(tags, tag_mask, features, region_mask)
