"""Tables 3 and 5: diagnostic objects, and numbers of images that can be ablated of them."""

from collections import defaultdict
from collections.abc import Mapping, Sequence

from captionlab.papers.scenes.run import Provenance, Row, ScenesRun, scenes_sheet, without_interval
from captionlab.reporting.render import MISSING, Block, Cell, Column, Table
from captionlab.reporting.sheets import PROVENANCE

# Objects of a scene that Table 3 has.
SHOWN = 3
TRAINED_ON = "Train-Val"
OBJECT_COLUMNS = ("scene", "rank", "object", "pmi", "together", "with_object", "with_scene", *PROVENANCE)


def objects_table(run: ScenesRun, pmi: Sequence[Row], provenance: Provenance) -> Table:
    """Table 3: the objects that tell each scene, by pointwise mutual information. Rows of PMI."""
    columns = [Column("scene", numeric=False), Column("this run", numeric=False), Column("PMI of these", "nats")]
    columns += [Column("images", "with the first of scene"), Column("paper", numeric=False)]
    theirs, of_scene = defaultdict(list), defaultdict(list)
    for table, label, scene, _ in run.published.values:
        if table == "3":
            theirs[scene].append(label)
    for row in sorted(pmi, key=lambda row: row["rank"]):
        of_scene[row["scene"]].append(row)
    lines = []
    for scene in dict.fromkeys([*sorted(of_scene), *theirs]):
        top = of_scene.get(scene, [])[:SHOWN]
        texts = [
            scene,
            ", ".join(row["label"] for row in top),
            ", ".join(f"{row['pmi']:.2f}" for row in top),
            f"{top[0]['together']} of {top[0]['with_scene']}" if top else "",
            ", ".join(theirs.get(scene, [])),
        ]
        lines.append([Cell(text or MISSING) for text in texts])
    records = [
        {**{name: row.get(name) for name in OBJECT_COLUMNS}, "object": row["label"]}
        for rows in of_scene.values()
        for row in rows
    ]
    return scenes_sheet(run, provenance).table(
        "scenes_table3_objects",
        "Scenes, table 3: objects that tell a scene",
        "The objects with the largest pointwise mutual information with each scene, over all images.",
        columns,
        [Block(lines)],
        records,
        OBJECT_COLUMNS,
    )


def samples_table(
    run: ScenesRun, images: Mapping[str, int], samples: Mapping[tuple[str, int], int], provenance: Provenance
) -> Table:
    """Table 5: images of each split, and samples without so many objects.

    `images` has the number of images of each split, `samples` that of samples by split and number of objects.
    """
    sheet = scenes_sheet(run, provenance)
    splits = {TRAINED_ON: sorted({*images} - {run.split}), "Test": [run.split]}
    columns = [Column("objects removed", numeric=False)]
    columns += [Column(heading, group=group) for group in splits for heading in ("this run", "paper")]
    counts = {(split, 0): number for split, number in images.items()} | dict(samples)

    def cells(source: str, number: int | None, table: str, row: str, column: str, level: int | None) -> list[Cell]:
        theirs = run.published.find(table, row, column, "images")
        place = {"experiment": "ablation", "source": source, "level": level, "measure": "images"}
        ours = None if number is None else without_interval(number, number)
        return sheet.pair(place, ours, theirs, 0, interval=False)

    rows = []
    for objects in sorted({number for _, number in counts}):
        line = [Cell(str(objects) if objects else "none")]
        for heading, names in splits.items():
            found = [counts[split, objects] for split in names if (split, objects) in counts]
            line += cells(heading, sum(found) if found else None, "5", str(objects), heading, objects)
        rows.append(line)
    texts = []
    for split, number in [*sorted(images.items()), ("HL-Scenes", sum(images.values()))]:
        ours, paper = cells(split, number, "text", split, "3", None)
        texts.append(f"{split} {ours.text} (paper {paper.text})")
    sheet.notes += [
        f"Images of {run.corpus} by their split in {run.training}, which the finetuned captioner learnt from, and all: "
        f"{', '.join(texts)}.",
        f"{TRAINED_ON}: {', '.join(splits[TRAINED_ON]) or 'no split of this run'}. Test: {run.split}. Without objects "
        "are images of a scene that have so many of its most diagnostic ones; an image of two scenes may be two "
        "samples.",
    ]
    return sheet.table(
        "scenes_table5_samples",
        "Scenes, table 5: images without diagnostic objects",
        "How many images can be ablated of the objects that tell their scene.",
        columns,
        [Block(rows)],
    )
