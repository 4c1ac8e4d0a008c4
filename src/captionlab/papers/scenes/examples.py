"""Table 8 and Figure 2: what people wrote of objects and scenes, and captions before and after finetuning."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from captionlab.papers.scenes.run import ScenesRun, scenes_sheet
from captionlab.reporting.render import MISSING, Block, Cell, Column, Table
from captionlab.reporting.sheets import PROVENANCE
from captionlab.roles import FINETUNED, PRETRAINED

Row = Mapping[str, Any]
# Images that Table 8 has.
SHOWN = 4
RECORD_COLUMNS = ("place", "image_id", "split", "captions", "reference", "generated", *PROVENANCE)


@dataclass(frozen=True)
class Example:
    """An image with a caption of each kind that people wrote, and those of the captioner before and after."""

    image: str
    split: str
    objects: str
    scene: str
    before: str | None
    after: str | None


def drawn_examples(
    captions: Mapping[str, Sequence[Row]],
    objects: Mapping[str, Sequence[str]],
    scenes: Mapping[str, Sequence[str]],
    splits: Mapping[str, str],
    seed: int,
) -> tuple[list[Example], list[Example]]:
    """The image of Figure 2, and those of Table 8, with a random object caption and a random scene caption of each.

    `captions` are rows of ABLATED by role, of which those of whole images count; `objects` and `scenes` have what
    people wrote of each image; `splits` has the split of every image of the corpus. Images are drawn at random: that of
    Figure 2 among the captioned ones, those of Table 8 among all. Fewer where there are not so many that people
    described in both ways.
    """
    whole = {
        role: {row["image_id"]: row["caption"] for row in rows if not row["objects"]} for role, rows in captions.items()
    }
    before, after = whole[PRETRAINED], whole[FINETUNED]
    described = splits.keys() & objects.keys() & scenes.keys()
    generator = np.random.default_rng(seed)
    found = []
    for images, number in ((described & before.keys() & after.keys(), 1), (described, SHOWN)):
        ordered = sorted(images)
        drawn = [ordered[place] for place in generator.permutation(len(ordered))[:number]]
        found.append(
            [
                Example(
                    image,
                    splits[image],
                    objects[image][int(generator.integers(len(objects[image])))],
                    scenes[image][int(generator.integers(len(scenes[image])))],
                    before.get(image),
                    after.get(image),
                )
                for image in drawn
            ]
        )
    return found[0], found[1]


def data_table(
    run: ScenesRun,
    of_figure: Sequence[Example],
    of_table: Sequence[Example],
    pictures: Mapping[str, bytes],
    provenance: Mapping[str, Any],
) -> Table:
    """The captions of Figure 2, and Table 8; examples as drawn_examples gives them, pictures: PNGs by image."""
    sheet = scenes_sheet(run, provenance)
    columns = [Column(name, numeric=False) for name in ("captions", "reference", "generated")]
    blocks, records = [], []
    for place, examples in (("figure 2", of_figure), ("table 8", of_table)):
        for example in examples:
            rows = []
            kinds = (("of objects", example.objects, example.before), ("of scenes", example.scene, example.after))
            for kind, reference, generated in kinds:
                rows.append([Cell(kind), Cell(reference), Cell(generated or MISSING)])
                records.append(
                    {
                        "place": place, "image_id": example.image, "split": example.split, "captions": kind,
                        "reference": reference, "generated": generated,
                    }
                )  # fmt: skip
            heading = f"{place}: image {example.image}, split {example.split}"
            blocks.append(Block(rows, heading, pictures.get(example.image, b"")))
    sheet.notes.append(
        "Images are drawn at random among those that people described in both ways, each with a random caption of "
        f"either kind: for Table 8 among all of {run.corpus}, for Figure 2 among those that are captioned for the "
        "ablation. Generated: before finetuning beside object captions, after it beside scene captions; "
        f"{MISSING}: not captioned in this run."
    )
    if not of_table:
        sheet.notes.append("No image has an object caption; papers.scenes.object_captions must name its images.")
    return sheet.table(
        "scenes_table8_examples",
        "Scenes, table 8 and figure 2: examples of the data",
        "What people wrote of the objects and of the scene of an image, and what the captioner did before and after.",
        columns,
        blocks,
        records,
        RECORD_COLUMNS,
    )
