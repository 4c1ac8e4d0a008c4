"""Readers of the scene tables for later stages."""

import os
from collections.abc import Collection
from dataclasses import dataclass

from captionlab.ablation.scene_labels import images_of_scenes, one_scene
from captionlab.ablation.schemas import CHOSEN, LABELS, PMI
from captionlab.storage.tables import read_table


@dataclass(frozen=True)
class Scenes:
    """The studied scenes, with the scene labels and the split of all images.

    An image depicts a scene if at least `min_count` of its captions name the scene.
    """

    chosen: list[str]
    labels: dict[str, dict[str, int]]
    split: dict[str, str]
    min_count: int

    def depicting(self, splits: Collection[str] | None = None) -> dict[str, list[str]]:
        """Return the images of each scene, of all splits or of some, possibly none.

        Raises ValueError for a split in which no image has a scene label, and for a scene without images.
        """
        self._check(splits or ())
        found = images_of_scenes(self.labels, self.chosen, self.min_count)
        return {
            scene: [image for image in images if splits is None or self.split[image] in splits]
            for scene, images in found.items()
        }

    def classes(self, number: int, splits: Collection[str]) -> dict[str, str]:
        """Return for each image of some splits the scene, among the first `number`, that most of its captions name.

        Images without such a scene, or with two scenes named equally often, are left out. Raises ValueError for a split
        in which no image has a scene label.
        """
        self._check(splits)
        found = one_scene(self.labels, self.chosen[:number], self.min_count)
        return {image: scene for image, scene in found.items() if self.split[image] in splits}

    def _check(self, splits: Collection[str]) -> None:
        there = {*self.split.values()}
        if absent := [split for split in splits if split not in there]:
            names = ", ".join(sorted(there))
            raise ValueError(
                f"no image of the split {absent[0]!r} has a scene label, images of {names} have; correct "
                "scene_analysis.splits or the evaluation split of the corpus"
            )


def read_scenes(labels: str | os.PathLike[str], chosen: str | os.PathLike[str], min_count: int) -> Scenes:
    """Read the two tables that the rule label_scenes makes."""
    rows = read_table(labels, LABELS).to_pydict()
    found: dict[str, dict[str, int]] = {}
    for image, scene, captions in zip(rows["image_id"], rows["scene"], rows["captions"], strict=True):
        found.setdefault(image, {})[scene] = captions
    split = dict(zip(rows["image_id"], rows["split"], strict=True))
    return Scenes(read_table(chosen, CHOSEN).sort_by("rank")["scene"].to_pylist(), found, split, min_count)


def read_diagnostic(pmi: str | os.PathLike[str]) -> dict[str, list[str]]:
    """Return the objects of each scene, the most diagnostic object first."""
    rows = read_table(pmi, PMI).sort_by("rank").to_pydict()
    found: dict[str, list[str]] = {}
    for scene, label in zip(rows["scene"], rows["label"], strict=True):
        found.setdefault(scene, []).append(label)
    return found
