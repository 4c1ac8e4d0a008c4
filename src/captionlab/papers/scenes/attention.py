"""Numbers of Figures 4 and 10: how attention is spread, and the attention to special tokens."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from itertools import product

from captionlab.ablation.comparison import mean_over_images
from captionlab.config.roles import FINETUNED, PRETRAINED, ROLES
from captionlab.evaluation.rows import row
from captionlab.papers.scenes.values import ScenesRun, scenes_sheet, three, without_interval
from captionlab.reporting.claims.reading import Provenance, Rows
from captionlab.reporting.runs.values import Row
from captionlab.reporting.tables.builder import Line, Number, columns_of, rows_of
from captionlab.reporting.tables.footnotes import OVER_IMAGES
from captionlab.reporting.tables.render import MISSING, Block, Cell, Column, Table, interval_cell
from captionlab.statistics.intervals import FROM_0, SIMILAR, Ends, within

ATTENTION, SPECIAL = "attention", "special tokens"
STATISTICS = {"deviation": "standard deviation of the attention", "mass": "attention mass"}
# Attention is between 0 and 1, so its standard deviation is at most a half.
BOUNDS = {"deviation": (0.0, 0.5), "mass": FROM_0}
# Value that a special token must exceed to receive most of the attention.
HALF = "half of the attention"


def attention_rows(
    corpus: str, blocks: Mapping[str, Sequence[Row]], differences: Iterable[Row], seed: int
) -> tuple[Rows, Rows]:
    """Return deviation and mass of each relation, their differences, and the nearness of the differences.

    `blocks` are rows of BLOCKS by role, `differences` are rows of the attention stage.
    """
    values, made = [], []
    for role, rows in blocks.items():
        for relation, statistic in product(dict.fromkeys(found["relation"] for found in rows), STATISTICS):
            chosen = [found for found in rows if found["relation"] == relation]
            of_images = [found[statistic] for found in chosen]
            mean = _mean(of_images, [found["image_id"] for found in chosen], seed, BOUNDS[statistic])
            values.append(row(corpus, ATTENTION, role, statistic, *mean, relation))
    for found in differences:
        number, statistic = three(found, "difference"), found["statistic"]
        place = {"source": found["relation"], "against": PRETRAINED}
        made.append(row(corpus, ATTENTION, FINETUNED, statistic, number, found["n"], **place))
        margin = SIMILAR * abs(found["pretrained"])
        near, nearness = within(*number, margin), f"nearness of {statistic}"
        made.append(row(corpus, ATTENTION, FINETUNED, nearness, near, found["n"], **place, margin=margin))
    return values, made


def special_rows(corpus: str, shares: Mapping[str, Sequence[Row]], seed: int) -> tuple[Rows, Rows]:
    """Return the attention to each special token in each layer, and its differences in the last layer.

    The attention in the last layer is compared with the first layer and with half of all attention. `shares` are rows
    of SHARES by role. `source` is the kind of positions that attend.
    """
    values, differences = [], []
    for role, rows in shares.items():
        found: dict[tuple[str, str, int], dict[str, float]] = defaultdict(dict)
        for share in rows:
            if share["share"] is not None:
                found[share["target"], share["attending"], share["layer"]][share["image_id"]] = share["share"]
        for (target, attending, layer), of_images in found.items():
            mean = _mean([*of_images.values()], [*of_images], seed, (0.0, 1.0))
            values.append(row(corpus, SPECIAL, role, target, *mean, attending, layer))
        last = max((layer for _, _, layer in found), default=1)
        for target, attending in dict.fromkeys((target, attending) for target, attending, _ in found if last > 1):
            of_first, of_last = (found[target, attending, layer] for layer in (1, last))
            mean = _mean([of_last[image] - of_first[image] for image in of_first], [*of_first], seed, (-1.0, 1.0))
            differences.append(row(corpus, SPECIAL, role, target, *mean, attending, last, against="layer 1"))
            (value, low, high), n = _mean([*of_last.values()], [*of_last], seed, (0.0, 1.0))
            number = value - 0.5, low - 0.5, high - 0.5
            differences.append(row(corpus, SPECIAL, role, target, number, n, attending, last, against=HALF))
    return values, differences


def _mean(
    values: Sequence[float], images: Sequence[str], seed: int, bounds: Ends
) -> tuple[tuple[float, float, float], int]:
    """Return the mean over images with its interval, and the number of values."""
    mean = mean_over_images(values, images, seed, bounds)
    return (mean.value, mean.ci_low, mean.ci_high), mean.n


def attention_table(run: ScenesRun, differences: Sequence[Row], provenance: Provenance) -> Table:
    """Return the numbers of Figure 4: deviation and mass of the attention by relation.

    `differences` are rows of DIFFERENCES.
    """
    sheet = scenes_sheet(run, provenance)
    p_values = {(found["relation"], found["statistic"]): found["p_value"] for found in differences}
    numbers = [Number({"subject": role}, heading=role, decimals=3) for role in ROLES]
    numbers.append(Number({"subject": FINETUNED}, heading="difference", decimals=3, against=PRETRAINED, sign=""))
    blocks = []
    for measure, heading in STATISTICS.items():
        relations = run.found("source", ATTENTION)
        lines = [Line([one], {"experiment": ATTENTION, "source": one, "measure": measure}) for one in relations]
        rows = rows_of(sheet, None, "", run.corpus, lines, numbers)
        for relation, cells in zip(relations, rows, strict=True):
            apart = run.difference(run.place(ATTENTION, FINETUNED, measure, source=relation), PRETRAINED)
            p_value = p_values.get((relation, measure))
            cells += [Cell(MISSING if p_value is None else f"{p_value:.2g}"), Cell(str(apart.n) if apart else MISSING)]
        blocks.append(Block(rows, heading))
    apart = run.difference(run.place(ATTENTION, FINETUNED, "deviation", source="all"), PRETRAINED)
    number = without_interval(apart.n, apart.n) if apart else None
    theirs = run.published.find("text", "attention", "5", "images")
    place = {"experiment": ATTENTION, "source": "all", "measure": "images"}
    ours, paper = sheet.pair(place, number, theirs, 0, interval=False)
    sheet.notes += [
        f"Images: {ours.text} (paper {paper.text}).",
        f"{OVER_IMAGES} Values are maxima over heads among word pieces of tags and regions; difference: finetuned "
        "minus pretrained, with a two-sided paired bootstrap test. The paper shows these numbers as a density only.",
    ]
    _, *columns = columns_of(["relation"], numbers)
    return sheet.table(
        "scenes_figure4_attention",
        "Scenes, figure 4: how attention is spread",
        "Attention between tags and regions of the same images before and after finetuning on scenes.",
        [Column("relation", "query-key", numeric=False), *columns, Column("p"), Column("images")],
        blocks,
    )


def drawing_tokens(run: ScenesRun) -> list[str]:
    """Return the special tokens that receive any attention."""
    return [target for target in run.found("measure", SPECIAL) if max(run.found("value", SPECIAL, measure=target)) > 0]


def special_table(run: ScenesRun, provenance: Provenance) -> Table:
    """Return the numbers of Figure 10: attention to special tokens, by layer and by kind of attending positions."""
    sheet, targets, drawing = scenes_sheet(run, provenance), run.found("measure", SPECIAL), drawing_tokens(run)
    drawn_by = [(role, kind) for role in ROLES for kind in run.found("source", SPECIAL)]
    blocks = []
    for target in targets:
        rows = []
        for layer in sorted(run.found("level", SPECIAL)):
            cells = [Cell(f"{layer:g}")]
            for role, kind in drawn_by:
                place = run.place(SPECIAL, role, target, source=kind, level=layer)
                ours = run.value(place)
                found, _ = sheet.pair(asdict(place), ours, None, interval=target in drawing)
                cell = interval_cell([100 * one for one in ours.ends], ".1f") if ours else Cell(MISSING)
                cell = cell if target in drawing else Cell(cell.text)  # a masked token has 0 without an interval
                cells.append(replace(cell, place=found.place))
            rows.append(cells)
        blocks.append(Block(rows, f"drawn by {target}"))
    if hidden := [target for target in targets if target not in drawing]:
        sheet.notes.append(f"Nothing attends to {', '.join(hidden)}: padding is masked. Figure 10 has no panel of it.")
    sheet.notes.append(f"{OVER_IMAGES} Means over heads and positions; captions are the captioner's own.")
    return sheet.table(
        "scenes_figure10_special_tokens",
        "Scenes, figure 10: attention that special tokens draw",
        "Share of the attention of captions, tags, regions and special tokens that goes to special tokens, by layer.",
        [Column("layer", numeric=False), *(Column(kind, "%", role) for role, kind in drawn_by)],
        blocks,
    )
