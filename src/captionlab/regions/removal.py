"""Removal of objects from the inputs of VinVL (Cafagna et al. 2022, §6.1)."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from captionlab.regions.tagged_images import TaggedImages
from captionlab.regions.tagged_regions import TaggedRegions


@dataclass(frozen=True)
class Sample:
    """An image of a scene, and the labels of the objects to remove from it."""

    image: str
    scene: str
    labels: tuple[str, ...]


def samples(
    scenes: Mapping[str, Iterable[str]],
    diagnostic: Mapping[str, Sequence[str]],
    objects: Mapping[str, Iterable[str]],
    number: int,
) -> list[Sample]:
    """Return the images that depict a scene and contain all of its `number` most diagnostic objects.

    `scenes` has the images of each scene, `diagnostic` the objects of each scene, most diagnostic first, and `objects`
    the objects in each image. A scene with fewer than `number` objects has no samples. An image of two scenes may give
    two samples.
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
    """Return the images that contain the `number` most diagnostic objects of their scene, with the scene.

    `classes` has the scene of each image. The other arguments are as in `samples`.
    """
    return {image: of for image, of in classes.items() if samples({of: [image]}, diagnostic, objects, number)}


class Removal:
    """Removal of objects from images: of their tags and of the regions that show them."""

    def __init__(
        self, images: TaggedImages, matches: Iterable[tuple[str, int, int]], padding: int = 0, closed: bool = False
    ):
        """Initialize from `matches`: image, region and tag for each region that shows a tagged object.

        `padding` and `closed` are as in `remove`.
        """
        self.images, self.padding, self.closed = images, padding, closed
        self.regions: dict[tuple[str, int], list[int]] = {}
        for image, region, tag in matches:
            self.regions.setdefault((image, tag), []).append(region)

    def without(self, images: Sequence[str], labels: Sequence[Collection[str]]) -> TaggedRegions:
        """Return tags and regions of the images, each without the objects that have one of its labels.

        Labels without an object are ignored.
        """
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
    """Return a copy without some word pieces of tags (B, L) and some regions (B, R); both are boolean masks.

    Removed pieces become `padding`, the id of [PAD], and removed regions become zeros. Both can still be attended to,
    as if the input had been edited before it was read. With `closed`, they cannot be attended to.
    """
    tag_mask, region_mask = visual.tag_mask, visual.region_mask
    if closed:
        tag_mask, region_mask = tag_mask & ~pieces, region_mask & ~regions
    tags, features = visual.tags.masked_fill(pieces, padding), visual.regions.masked_fill(regions[:, :, None], 0.0)
    return TaggedRegions(tags, tag_mask, features, region_mask)
