"""Table 8 and Figure 2: what people wrote of objects and scenes, and captions before and after finetuning."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from captionlab.reporting.render import Block, Cell, Column, Table
from captionlab.reporting.scenes.run import ScenesRun, ScenesSheet
from captionlab.reporting.sheets import PROVENANCE
from captionlab.roles import FINETUNED, PRETRAINED

Row = Mapping[str, Any]
# Images that Table 8 has.
SHOWN = 4
RECORD_COLUMNS = ("image_id", "split", "captions", "reference", "generated", *PROVENANCE)


@dataclass(frozen=True)
class Example:
    """An image with a caption of each kind that people wrote, and those of the captioner before and after."""

    image: str
    split: str
    objects: str
    scene: str
    before: str
    after: str


def drawn_examples(
    captions: Mapping[str, Sequence[Row]],
    objects: Mapping[str, Sequence[str]],
    scenes: Mapping[str, Sequence[str]],
    seed: int,
) -> list[Example]:
    """Images drawn at random, with a random one of their object captions and of their scene captions.

    `captions` are rows of ABLATED by role, of which those of whole images count; `objects` and `scenes` have what
    people wrote of each image. Fewer than SHOWN where there are not so many images with all of these.
    """
    whole = {role: {row["image_id"]: row for row in rows if not row["objects"]} for role, rows in captions.items()}
    images = sorted(whole[PRETRAINED].keys() & whole[FINETUNED].keys() & objects.keys() & scenes.keys())
    generator = np.random.default_rng(seed)
    drawn = [images[place] for place in generator.permutation(len(images))[:SHOWN]]
    return [
        Example(
            image,
            whole[FINETUNED][image]["split"],
            objects[image][int(generator.integers(len(objects[image])))],
            scenes[image][int(generator.integers(len(scenes[image])))],
            whole[PRETRAINED][image]["caption"],
            whole[FINETUNED][image]["caption"],
        )
        for image in drawn
    ]


def data_table(
    run: ScenesRun, examples: Sequence[Example], pictures: Mapping[str, bytes], provenance: Mapping[str, Any]
) -> Table:
    """Table 8, with the generated captions of Figure 2; pictures: PNGs by image."""
    sheet = ScenesSheet(run, provenance)
    columns = [Column(name, numeric=False) for name in ("captions", "reference", "generated")]
    blocks, records = [], []
    for example in examples:
        rows = []
        kinds = (("of objects", example.objects, example.before), ("of scenes", example.scene, example.after))
        for kind, reference, generated in kinds:
            rows.append([Cell(kind), Cell(reference), Cell(generated)])
            records.append(
                {
                    "image_id": example.image, "split": example.split, "captions": kind, "reference": reference,
                    "generated": generated,
                }
            )  # fmt: skip
        heading = f"image {example.image}, split {example.split}"
        blocks.append(Block(rows, heading, pictures.get(example.image, b"")))
    sheet.notes.append(
        "Images are drawn at random among those that are captioned for the ablation and that people described in both "
        "ways, each with a random caption of either kind. Generated: before finetuning beside object captions, after "
        "it beside scene captions."
    )
    if not examples:
        sheet.notes.append("No such image has an object caption; papers.scenes.object_captions must name its images.")
    return sheet.table(
        "scenes_table8_examples",
        "Scenes, table 8 and figure 2: examples of the data",
        "What people wrote of the objects and of the scene of an image, and what the captioner did before and after.",
        columns,
        blocks,
        records,
        RECORD_COLUMNS,
    )
