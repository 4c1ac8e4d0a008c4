"""Images without some of their objects (Cafagna et al. 2022, §6.1)."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from torch import Tensor

from captionlab.features.tagged_regions import TaggedRegions


@dataclass(frozen=True)
class Sample:
    """An image of a scene, and the labels of the objects to be removed from it."""

    image: str
    scene: str
    labels: tuple[str, ...]


def samples(
    scenes: Mapping[str, Iterable[str]],
    informative: Mapping[str, Sequence[str]],
    objects: Mapping[str, Iterable[str]],
    number: int,
) -> list[Sample]:
    """The images that depict a scene and contain all of its `number` most informative objects.

    `scenes` has the images of each scene, `informative` its objects, the most informative first, and `objects` those in
    each image. A scene with fewer objects has no sample; an image of two scenes may be two samples.
    """
    return [
        Sample(image, scene, tuple(informative[scene][:number]))
        for scene, images in scenes.items()
        if len(informative.get(scene, ())) >= number
        for image in images
        if {*informative[scene][:number]} <= {*objects.get(image, ())}
    ]


def remove(
    visual: TaggedRegions, pieces: Tensor, regions: Tensor, padding: int = 0, closed: bool = False
) -> TaggedRegions:
    """The same images without some word pieces of tags (B, L) and some regions (B, R).

    Pieces become `padding`, the id of [PAD], and regions zeros. They can still be attended to, as where a text is
    replaced before it is read; with `closed` they cannot.
    """
    without = replace(
        visual,
        tags=visual.tags.masked_fill(pieces, padding),
        regions=visual.regions.masked_fill(regions[:, :, None], 0.0),
    )
    if closed:
        without = replace(without, tag_mask=visual.tag_mask & ~pieces, region_mask=visual.region_mask & ~regions)
    return without
