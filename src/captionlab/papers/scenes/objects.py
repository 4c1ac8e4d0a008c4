"""Objects of scenes: attended and frequent ones (Table 2), diagnostic ones (Table 3), and ablated images (Table 5)."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict

import numpy as np

from captionlab.attention.objects import UNIFORM, overlap_by_chance
from captionlab.config.roles import FINETUNED, PRETRAINED, ROLES
from captionlab.evaluation.rows import row
from captionlab.papers.scenes.values import ScenesRun, scenes_sheet, without_interval
from captionlab.reporting.claims.reading import Provenance, Rows
from captionlab.reporting.runs.values import Measured, Row
from captionlab.reporting.tables.render import MISSING, PAPER, Block, Cell, Column, Table, interval_cell
from captionlab.reporting.tables.sheets import PROVENANCE, Sheet
from captionlab.reporting.tables.verdicts import judge_below
from captionlab.statistics.intervals import NORMAL, NOTHING, independent_difference, student_interval

# Scenes of the paper whose attended and frequent objects overlap much, and little (§5); names of columns of OVERLAPS.
MUCH, LITTLE = ("station", "road", "sea", "resort"), ("room", "house", "restaurant")
MEASURES = {"RBO": "rank_biased_overlap", "IoU": "intersection_over_union"}
BY_CHANCE, BY_UNIFORM = "chance", "uniform attention"
# Number of objects of a scene in Table 3.
SHOWN = 3
TRAINED_ON = "Train-Val"
OBJECT_COLUMNS = ("scene", "rank", "object", "pmi", "together", "with_object", "with_scene", *PROVENANCE)
HEADINGS = {
    FINETUNED: "after finetuning on scenes",
    PRETRAINED: "before; not in the paper",
    UNIFORM: "uniform attention, the same for every tag; not in the paper",
}


def overlap_rows(corpus: str, overlaps: Sequence[Row], rankings: Iterable[Row], correlations: Iterable[Row]) -> Rows:
    """Return how far attended and frequent objects overlap beyond chance and uniform attention, and correlations.

    Correlations are between the two measures of overlap. The intervals of overlaps are Student's t over scenes; the
    interval of a correlation is Fisher's.
    """
    objects = Counter(ranked["scene"] for ranked in rankings if ranked["ranking"] == "frequent")
    uniform = (found for found in overlaps if found["captioner"] == UNIFORM)
    of_uniform = {(found["scene"], found["depth"]): found["rank_biased_overlap"] for found in uniform}
    apart: dict[tuple[str, int, str], list[float]] = defaultdict(list)
    images: dict[tuple[str, int], int] = defaultdict(int)
    for found in overlaps:
        role, scene, depth = (found[name] for name in ("captioner", "scene", "depth"))
        held = {BY_CHANCE: overlap_by_chance(objects[scene], depth)}
        if role != UNIFORM:
            held[BY_UNIFORM] = of_uniform[scene, depth]
        for against, value in held.items():
            apart[role, depth, against].append(found["rank_biased_overlap"] - value)
        images[role, depth] += found["attended"]
    rows = []
    for (role, depth, against), values in apart.items():
        if len(values) > 1:
            number = student_interval(np.array(values), (-1.0, 1.0))
            rows.append(row(corpus, "overlap", role, "RBO", number, images[role, depth], level=depth, against=against))
    for found in correlations:
        if found["r"] is not None and found["degrees"] > 1:
            pairs = found["degrees"] + 2
            number = correlation_interval(found["r"], pairs)
            rows.append(row(corpus, "overlap", found["captioner"], "r", number, pairs, against="no correlation"))
    return rows


def contrast_rows(corpus: str, overlaps: Iterable[Row]) -> Rows:
    """Return how much more objects overlap in the scenes MUCH than in the scenes LITTLE, on average, at each depth.

    Only scenes that the run has are used. There is no row if the run has no scene of a side. The scenes are fixed, so
    only their images are random: the distances to the ends of their intervals are joined by squares (Zou and Donner
    2008).
    """
    found = [overlap for overlap in overlaps if overlap["captioner"] != UNIFORM]
    rows = []
    for role, depth in dict.fromkeys((overlap["captioner"], overlap["depth"]) for overlap in found):
        of_role = [overlap for overlap in found if (overlap["captioner"], overlap["depth"]) == (role, depth)]
        sides = [[overlap for overlap in of_role if overlap["scene"] in side] for side in (MUCH, LITTLE)]
        if not all(sides):
            continue
        present = {overlap["scene"] for overlap in of_role}
        source, against = (", ".join(scene for scene in side if scene in present) for side in (MUCH, LITTLE))
        images = sum(overlap["attended"] for side in sides for overlap in side)
        for measure, column in MEASURES.items():
            value, low, high = independent_difference(*(_mean_overlap(side, column) for side in sides))
            number = value, max(-1.0, low), min(1.0, high)
            rows.append(row(corpus, "overlap of scenes", role, measure, number, images, source, depth, against=against))
    return rows


def _mean_overlap(overlaps: Sequence[Row], column: str) -> tuple[float, float, float]:
    """Return the mean over scenes, each with images of its own, and the ends of its interval."""
    mean = float(np.mean([overlap[column] for overlap in overlaps]))
    below, above = (
        math.hypot(*(overlap[column] - overlap[f"{column}_ci_{end}"] for overlap in overlaps)) / len(overlaps)
        for end in ("low", "high")
    )
    return mean, mean - below, mean + above


def correlation_interval(r: float, pairs: int) -> tuple[float, float, float]:
    """Return Pearson's correlation of at least 4 pairs with its 95 % interval (Fisher 1921).

    The interval has no width if all pairs lie on a line.
    """
    if 1 - abs(r) <= NOTHING:
        return r, r, r
    middle, distance = math.atanh(r), NORMAL / math.sqrt(pairs - 3)
    return r, math.tanh(middle - distance), math.tanh(middle + distance)


def overlap_table(
    run: ScenesRun, overlaps: Sequence[Row], correlations: Sequence[Row], provenance: Provenance
) -> Table:
    """Return Table 2: overlap of the most attended and the most frequent objects.

    `overlaps` are rows of OVERLAPS, `correlations` are rows of CORRELATIONS.
    """
    sheet = scenes_sheet(run, provenance)
    found = {(row["captioner"], row["scene"], row["depth"]): row for row in overlaps}
    depths = sorted({depth for *_, depth in found})
    columns = [Column("scene", numeric=False)]
    for measure in MEASURES:
        for depth in depths:
            columns += [Column(f"@{depth}", "this run", measure), Column(PAPER, group=measure)]
    columns += [Column(name, group="images") for name in ("attended", "counted")]
    blocks = []
    for role, heading in HEADINGS.items():
        printed = run.published.rows("2") if role == FINETUNED else []
        # The block also has the paper's scenes that the run lacks.
        scenes = dict.fromkeys([*(scene for of, scene, _ in found if of == role), *printed])
        rows = []
        for scene in (scene for scene in scenes if scene != "r"):
            cells = [Cell(scene)]
            for measure, column in MEASURES.items():
                for depth in depths:
                    ours = found.get((role, scene, depth))
                    theirs = run.published.find("2", scene, str(depth), measure) if printed else None
                    place = asdict(run.place("overlap", role, measure, source=scene, level=depth))
                    number = None
                    if ours:
                        value, low, high = (ours[f"{column}{end}"] for end in ("", "_ci_low", "_ci_high"))
                        number = Measured(value, low, high, 1, ours["attended"])
                    cells += sheet.pair(place, number, theirs)
            any_depth = next((found[role, scene, depth] for depth in depths if (role, scene, depth) in found), None)
            cells += [Cell(str(any_depth[name]) if any_depth else MISSING) for name in ("attended", "counted")]
            rows.append(cells)
        blocks.append(Block(rows, heading))
    sheet.notes += [
        *(_correlation_note(run, sheet, correlation) for correlation in correlations),
        "RBO: rank-biased overlap with p = 1, the mean agreement down to the depth. IoU: intersection over union. "
        "Objects are ranked by the attention that their tags receive in the attended images of a scene, and by how "
        "many of the counted ones have them. Attention is added up over tags and images, so their number is a factor "
        "of it: uniform attention is what this factor gives alone. Intervals: 95 %, symmetric bootstrap over the "
        "images of a scene, which ranks objects anew.",
        *_chance_notes(run, depths),
    ]
    return sheet.table(
        "scenes_table2_overlap",
        "Scenes, table 2: most attended and most frequent objects",
        "Overlap of the objects of a scene that a captioner attends to most with those that are in most of its images.",
        columns,
        blocks,
    )


def _chance_notes(run: ScenesRun, depths: Sequence[int]) -> Iterator[str]:
    """Yield notes on how far the overlaps at each depth exceed the overlaps by chance and by uniform attention."""
    for depth in depths:
        for role in ROLES:
            place = run.place("overlap", role, "RBO", level=depth)
            found = [run.difference(place, against) for against in (BY_CHANCE, BY_UNIFORM)]
            cells = [interval_cell(apart.ends, "+.2f") for apart in found if apart]
            if len(cells) == len(found):
                chance, uniform = (f"{cell.text} {cell.detail}" for cell in cells)
                yield (
                    f"RBO@{depth} of the {role} captioner is on average {chance} above that of objects in random "
                    f"order, and {uniform} above that of uniform attention (95 %, Student's t over scenes)."
                )


def _correlation_note(run: ScenesRun, sheet: Sheet, correlation: Row) -> str:
    """Return a note on the correlation of RBO and IoU, ours and the paper's, and keep the record."""
    role, r, degrees, p_value = (correlation[name] for name in ("captioner", "r", "degrees", "p_value"))
    what = f"RBO and IoU of the {role} captioner"
    if r is None:
        return f"{what} have no correlation: one of them is the same everywhere."
    if degrees < 2:
        return f"{what} have too few pairs for the interval of a correlation."
    theirs = run.published.find("2", "r", "all", "r") if role == FINETUNED else None
    place, pairs = {"experiment": "overlap", "subject": role}, degrees + 2
    number = Measured(*correlation_interval(r, pairs), 1, pairs)
    ours, printed = sheet.pair({**place, "measure": "r"}, number, theirs)
    bound = run.published.find("text", "r", "5", "p_value") if theirs else None
    number, verdict = without_interval(p_value, pairs), judge_below(p_value, bound, run.comparable)
    _, below = sheet.pair({**place, "measure": "p_value"}, number, bound, interval=False, verdict=verdict)
    paper = f"; in the paper r(19) = {printed.text}, p < {below.text}" if bound else ""
    return f"{what} correlate with r({degrees}) = {ours.text} {ours.detail}, p = {p_value:.2g}{paper}."


def objects_table(run: ScenesRun, pmi: Sequence[Row], provenance: Provenance) -> Table:
    """Return Table 3: the diagnostic objects of each scene, by pointwise mutual information, from rows of PMI."""
    columns = [Column("scene", numeric=False), Column("this run", numeric=False), Column("PMI of these", "nats")]
    columns += [Column("images", "with the first of scene"), Column(PAPER, numeric=False)]
    theirs, of_scene = defaultdict(list), defaultdict(list)
    for table, label, scene, _ in run.published.values:
        if table == "3":
            theirs[scene].append(label)
    for ranked in sorted(pmi, key=lambda one: one["rank"]):
        of_scene[ranked["scene"]].append(ranked)
    lines = []
    for scene in dict.fromkeys([*sorted(of_scene), *theirs]):
        top = of_scene.get(scene, [])[:SHOWN]
        labels, numbers = ", ".join(one["label"] for one in top), ", ".join(f"{one['pmi']:.2f}" for one in top)
        images = f"{top[0]['together']} of {top[0]['with_scene']}" if top else ""
        texts = (scene, labels, numbers, images, ", ".join(theirs.get(scene, [])))
        lines.append([Cell(text or MISSING) for text in texts])
    records = [{**one, "object": one["label"]} for ranked in of_scene.values() for one in ranked]
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
    """Return Table 5: images of each split, and samples from which objects were removed.

    `images` maps a split to its number of images; `samples` maps (split, number of objects) to a number of samples.
    """
    sheet = scenes_sheet(run, provenance)
    splits = {TRAINED_ON: sorted({*images} - {run.split}), "Test": [run.split]}
    columns = [Column("objects removed", numeric=False)]
    columns += [Column(heading, group=group) for group in splits for heading in ("this run", PAPER)]
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
