"""Tables 1, 2, 3 and 5: metrics over epochs, attended and frequent objects, diagnostic objects, numbers of images."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from captionlab.attention.objects import UNIFORM
from captionlab.papers.scenes.measurements import correlation_interval
from captionlab.papers.scenes.run import ScenesRun, scenes_sheet, without_interval
from captionlab.reporting.builder import Line, Number, blocks_of, columns_of
from captionlab.reporting.footnotes import OVER_IMAGES
from captionlab.reporting.render import MISSING, Block, Cell, Column, Table, Value
from captionlab.reporting.runs import Measured
from captionlab.reporting.sheets import PROVENANCE, Sheet
from captionlab.reporting.verdicts import judge_below
from captionlab.roles import ROLES

Row = Mapping[str, Any]

# Our metrics by the headings of the paper's Table 1.
METRICS = {"B4": "BLEU@4", "M": "METEOR", "RL": "ROUGE-L", "CIDEr": "CIDEr", "SPICE": "SPICE"}
MEASURES = {"RBO": "rank_biased_overlap", "IoU": "intersection_over_union"}
# Objects of a scene that Table 3 has.
SHOWN = 3
TRAINED_ON = "Train-Val"
OBJECT_COLUMNS = ("scene", "rank", "object", "pmi", "together", "with_object", "with_scene", *PROVENANCE)


def metrics_table(run: ScenesRun, provenance: Mapping[str, Any]) -> Table:
    """Table 1: metrics of scene captions over the epochs of finetuning."""
    sheet = scenes_sheet(run, provenance)
    measured = run.found("measure", "scene captions")
    shown = {printed: metric for printed, metric in METRICS.items() if metric in measured}
    sheet.notes += [f"{printed} is not in this run." for printed in METRICS if printed not in shown]
    numbers = [Number({"measure": metric}, printed, printed=printed, decimals=1) for printed, metric in shown.items()]
    rank = {label: number for number, label in enumerate(run.published.rows("1"))}
    subjects = sorted(run.found("subject", "scene captions"), key=lambda label: (rank.get(label, -1), label))
    lines = [Line([label], {"subject": label, "experiment": "scene captions"}, label) for label in subjects]
    sheet.notes.append(
        f"{OVER_IMAGES} A row is the same training, stopped after so many epochs; pretrained is before it."
    )
    return sheet.table(
        "scenes_table1_metrics",
        "Scenes, table 1: scene captions over the epochs of finetuning",
        "Similarity of captions to scene captions that people wrote, before and during finetuning on such captions.",
        columns_of(["epoch"], numbers),
        blocks_of(sheet, "1", lines, numbers),
    )


def overlap_table(
    run: ScenesRun, overlaps: Sequence[Row], correlations: Sequence[Row], provenance: Mapping[str, Any]
) -> Table:
    """Table 2: overlap of the most attended and the most frequent objects. Rows of OVERLAPS and CORRELATIONS."""
    sheet = scenes_sheet(run, provenance)
    depths = sorted({row["depth"] for row in overlaps})
    columns = [Column("scene", numeric=False)]
    for measure in MEASURES:
        for depth in depths:
            columns += [Column(f"@{depth}", "this run", measure), Column("paper", group=measure)]
    columns += [Column(name, group="images") for name in ("attended", "counted")]
    found = {(row["captioner"], row["scene"], row["depth"]): row for row in overlaps}
    blocks = []
    headings = {
        "finetuned": "after finetuning on scenes",
        "pretrained": "before; not in the paper",
        UNIFORM: "uniform attention, the same for every tag; not in the paper",
    }
    for role, heading in headings.items():
        scenes = dict.fromkeys(row["scene"] for row in overlaps if row["captioner"] == role)
        # The paper's scenes that the run has not stand there too.
        listed = [*scenes, *(s for s in run.published.rows("2") if role == "finetuned" and s not in {*scenes, "r"})]
        rows = []
        for scene in listed:
            row = [Cell(scene)]
            for measure, column in MEASURES.items():
                for depth in depths:
                    ours = found.get((role, scene, depth))
                    number = _measured(ours, column) if ours else None
                    theirs = run.published.find("2", scene, str(depth), measure) if role == "finetuned" else None
                    place = {"experiment": "overlap", "subject": role, "source": scene, "level": depth}
                    row += sheet.pair({**place, "measure": measure}, number, theirs)
            any_depth = next((found[role, scene, depth] for depth in depths if (role, scene, depth) in found), None)
            row += [Cell(str(any_depth[name]) if any_depth else MISSING) for name in ("attended", "counted")]
            rows.append(row)
        blocks.append(Block(rows, heading))
    for correlation in correlations:
        sheet.notes.append(_correlation_note(run, sheet, correlation))
    sheet.notes.append(
        "RBO: rank-biased overlap with p = 1, the mean agreement down to the depth. IoU: intersection over union. "
        "Objects are ranked by the attention that their tags receive in the attended images of a scene, and by how "
        "many of the counted ones have them. Attention is added up over tags and images, so their number is a factor "
        "of it: uniform attention is what this factor gives alone. Intervals: 95 %, symmetric bootstrap over the "
        "images of a scene, which ranks objects anew."
    )
    sheet.notes += _chance_notes(run, depths)
    return sheet.table(
        "scenes_table2_overlap",
        "Scenes, table 2: most attended and most frequent objects",
        "Overlap of the objects of a scene that a captioner attends to most with those that are in most of its images.",
        columns,
        blocks,
    )


def _chance_notes(run: ScenesRun, depths: Sequence[int]) -> Iterator[str]:
    """How far the overlaps at each depth are above those of objects in random order and of uniform attention."""
    for depth in depths:
        for role in ROLES:
            chance, uniform = (
                run.difference(run.place("overlap", role, "RBO", level=depth), against)
                for against in ("chance", "uniform attention")
            )
            if chance and uniform:
                yield (
                    f"RBO@{depth} of the {role} captioner is on average {_signed(chance)} above that of objects in "
                    f"random order, and {_signed(uniform)} above that of uniform attention (95 %, Student's t over "
                    "scenes)."
                )


def _signed(apart: Measured) -> str:
    return f"{apart.value:+.2f} [{apart.ci_low:+.2f}, {apart.ci_high:+.2f}]"


def _measured(overlap: Row, column: str) -> Measured:
    """An overlap with its interval."""
    low, high = (overlap[f"{column}_ci_{end}"] for end in ("low", "high"))
    return Measured(overlap[column], low, high, 1, overlap["attended"])


def _correlation_note(run: ScenesRun, sheet: Sheet, correlation: Row) -> str:
    """How RBO and IoU go together, ours and the paper's; the record is kept."""
    role, degrees = correlation["captioner"], correlation["degrees"]
    if correlation["r"] is None:
        return f"RBO and IoU of the {role} captioner have no correlation: one of them is the same everywhere."
    theirs = run.published.find("2", "r", "all", "r") if role == "finetuned" else None
    if degrees < 2:
        return f"RBO and IoU of the {role} captioner have too few pairs for the interval of a correlation."
    ours = Measured(*correlation_interval(correlation["r"], degrees + 2), 1, degrees + 2)
    cells = sheet.pair({"experiment": "overlap", "subject": role, "measure": "r"}, ours, theirs)
    bound = run.published.find("text", "r", "5", "p_value") if theirs else None
    p_value = sheet.pair(
        {"experiment": "overlap", "subject": role, "measure": "p_value"},
        without_interval(correlation["p_value"], degrees + 2),
        bound,
        interval=False,
        verdict=judge_below(correlation["p_value"], bound, run.comparable),
    )[1]
    paper = f"; in the paper r(19) = {cells[1].text}, p < {p_value.text}" if bound else ""
    return (
        f"RBO and IoU of the {role} captioner correlate with r({degrees}) = {cells[0].text} {cells[0].detail}, "
        f"p = {correlation['p_value']:.2g}{paper}."
    )


def objects_table(run: ScenesRun, pmi: Sequence[Row], provenance: Mapping[str, Any]) -> Table:
    """Table 3: the objects that tell each scene, by pointwise mutual information. Rows of PMI."""
    sheet = scenes_sheet(run, provenance)
    columns = [Column("scene", numeric=False), Column("this run", numeric=False), Column("PMI of these", "nats")]
    columns += [Column("images", "with the first of scene"), Column("paper", numeric=False)]
    theirs: dict[str, list[str]] = {}
    for table, label, scene, _ in run.published.values:
        if table == "3":
            theirs.setdefault(scene, []).append(label)
    of_scene: dict[str, list[Row]] = {}
    for row in sorted(pmi, key=lambda row: row["rank"]):
        of_scene.setdefault(row["scene"], []).append(row)
    lines = []
    for scene in dict.fromkeys([*sorted(of_scene), *theirs]):
        top = of_scene.get(scene, [])[:SHOWN]
        lines.append(
            [
                Cell(scene),
                Cell(", ".join(row["label"] for row in top) or MISSING),
                Cell(", ".join(f"{row['pmi']:.2f}" for row in top) or MISSING),
                Cell(f"{top[0]['together']} of {top[0]['with_scene']}" if top else MISSING),
                Cell(", ".join(theirs.get(scene, [])) or MISSING),
            ]
        )
    records = [
        {**{name: row.get(name) for name in OBJECT_COLUMNS}, "object": row["label"]}
        for rows in of_scene.values()
        for row in rows
    ]
    return sheet.table(
        "scenes_table3_objects",
        "Scenes, table 3: objects that tell a scene",
        "The objects with the largest pointwise mutual information with each scene, over all images.",
        columns,
        [Block(lines)],
        records,
        OBJECT_COLUMNS,
    )


def samples_table(
    run: ScenesRun, images: Mapping[str, int], samples: Mapping[tuple[str, int], int], provenance: Mapping[str, Any]
) -> Table:
    """Table 5: images of each split, and samples without so many objects.

    `images` has the number of images of each split, `samples` that of samples by split and number of objects.
    """
    sheet = scenes_sheet(run, provenance)
    columns = [Column("objects removed", numeric=False)]
    splits = {TRAINED_ON: sorted({*images} - {run.split}), "Test": [run.split]}
    for heading in splits:
        columns += [Column("this run", group=heading), Column("paper", group=heading)]
    counts = {(split, 0): number for split, number in images.items()} | dict(samples)
    rows = []
    for objects in sorted({number for _, number in counts}):
        row = [Cell(str(objects) if objects else "none")]
        for heading, names in splits.items():
            found = [counts[split, objects] for split in names if (split, objects) in counts]
            theirs = run.published.find("5", str(objects), heading, "images")
            place: dict[str, Value] = {
                "experiment": "ablation",
                "source": heading,
                "level": objects,
                "measure": "images",
            }
            ours = without_interval(sum(found), sum(found)) if found else None
            row += sheet.pair(place, ours, theirs, 0, interval=False)
        rows.append(row)
    texts = []
    for split, number in [*sorted(images.items()), ("HL-Scenes", sum(images.values()))]:
        theirs = run.published.find("text", split, "3", "images")
        place = {"experiment": "ablation", "source": split, "measure": "images"}
        cells = sheet.pair(place, without_interval(number, number), theirs, 0, interval=False)
        texts.append(f"{split} {cells[0].text} (paper {cells[1].text})")
    sheet.notes.append(
        f"Images of {run.corpus} by their split in {run.training}, which the finetuned captioner learnt from, and all: "
        f"{', '.join(texts)}."
    )
    sheet.notes.append(
        f"{TRAINED_ON}: {', '.join(splits[TRAINED_ON]) or 'no split of this run'}. Test: {run.split}. Without objects "
        "are images of a scene that have so many of its most diagnostic ones; an image of two scenes may be two "
        "samples."
    )
    return sheet.table(
        "scenes_table5_samples",
        "Scenes, table 5: images without diagnostic objects",
        "How many images can be ablated of the objects that tell their scene.",
        columns,
        [Block(rows)],
    )
