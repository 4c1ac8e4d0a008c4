"""Numbers of Figures 6, 7 and 12: changes in captions and confidence when diagnostic objects are removed."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby

import numpy as np

from captionlab.ablation.comparison import Pair
from captionlab.config.roles import FINETUNED, PRETRAINED, ROLES
from captionlab.evaluation.rows import row
from captionlab.papers.scenes.values import ScenesRun, scenes_sheet, three, without_interval
from captionlab.reporting.claims.reading import Provenance, Rows
from captionlab.reporting.runs.values import Measured, Row
from captionlab.reporting.tables.builder import Line, Number, columns_of, rows_of
from captionlab.reporting.tables.footnotes import OVER_IMAGES
from captionlab.reporting.tables.render import MISSING, Block, Cell, Column, Table, interval_cell
from captionlab.reporting.tables.sheets import Sheet
from captionlab.reporting.tables.verdicts import Verdict
from captionlab.statistics.intervals import (
    SMALL_EFFECT,
    bootstrap_interval,
    paired_share_interval,
    resampled_sums,
    share_interval,
    within,
)

ABLATION = "ablation"
NUMBERS = (
    Number({"measure": "changed"}, "captions that change", detail="%", printed="captions changed", decimals=1),
    Number({"measure": "confidence"}, "unchanged captions", "confidence after", decimals=3),
    Number({"measure": "shift"}, "unchanged captions", "shift", decimals=3),
)


def ablation_rows(
    corpus: str, effects: Iterable[Row], pairs: Mapping[str, Sequence[Pair]], seed: int
) -> tuple[Rows, Rows]:
    """Return the effects of ablation on captions by role, and how much larger they are for the finetuned captioner.

    Shares are in per cent. `effects` are rows of the ablation stage; `pairs` are captions before and after by role. The
    spread is the standard deviation of the confidence shifts of unchanged captions.
    """
    values, differences = [], []
    for found in effects:
        if found["value"] is not None:
            role, statistic, split, level = (found[name] for name in ("captioner", "statistic", "split", "objects"))
            factor = 100.0 if statistic == "changed" else 1.0
            value, low, high = (factor * number for number in three(found))
            values.append(row(corpus, ABLATION, role, statistic, (value, low, high), found["n"], split, level or None))
    every = sorted({(pair.split, pair.objects) for of_role in pairs.values() for pair in of_role})
    for split, of_split in groupby(every, key=lambda one: one[0]):
        for level in (None, *(objects for _, objects in of_split)):
            after, before = (
                [p for p in pairs[role] if p.split == split and level in (None, p.objects)]
                for role in (FINETUNED, PRETRAINED)
            )
            for measured in compared(after, before, seed):
                differences.append(row(corpus, ABLATION, FINETUNED, *measured, split, level, against=PRETRAINED))
    return values, differences


def shift_rows(corpus: str, pairs: Mapping[str, Sequence[Pair]], split: str, seed: int) -> Rows:
    """Return how far confidence shifts on a split lie from the shifts on all other splits, and the nearness.

    Only unchanged captions count; each image counts once, with its mean shift. The nearness is within SMALL_EFFECT of
    the standard deviation of the shifts within a side, since the shifts themselves are about 0. A role has no rows if a
    side has fewer than two images.
    """
    rows = []
    for role, of_role in pairs.items():
        sides: list[dict[str, list[float]]] = [{}, {}]
        for pair in of_role:
            if not pair.changed:
                sides[pair.split != split].setdefault(pair.image, []).append(pair.before - pair.after)
        shifts = [np.array([np.mean(of_image) for of_image in side.values()]) for side in sides]
        images = min(map(len, shifts))
        if images < 2:
            continue
        # The two sides have different images, so each is resampled with a seed of its own; equal seeds would draw
        # alike.
        resampled = [resampled_sums(one[:, None], seed + place)[:, 0] / len(one) for place, one in enumerate(shifts)]
        value = float(shifts[0].mean() - shifts[1].mean())
        number = value, *bootstrap_interval(value, resampled[0] - resampled[1], (-2.0, 2.0))
        squares = sum(float(((of_side - of_side.mean()) ** 2).sum()) for of_side in shifts)
        margin = SMALL_EFFECT * math.sqrt(squares / sum(len(of_side) - 1 for of_side in shifts))
        near, against = within(*number, margin), "all other splits"
        rows.append(row(corpus, ABLATION, role, "shift", number, images, split, against=against))
        rows.append(row(corpus, ABLATION, role, "nearness of shift", near, images, split, None, 1, against, margin))
    return rows


def compared(
    first: Sequence[Pair], second: Sequence[Pair], seed: int
) -> Iterator[tuple[str, tuple[float, float, float], int]]:
    """Yield measures of ablated captions, first minus second captioner, with interval and number of captions averaged.

    Both captioners saw the same images, which are resampled together. Confidence, shift and spread are computed on
    unchanged captions. They are left out if a captioner has fewer than two unchanged captions. The number is the
    smaller of the two captioners' numbers.
    """
    images = {image: number for number, image in enumerate(dict.fromkeys(pair.image for pair in (*first, *second)))}
    # For each captioner: the number of samples, the number of changed ones, and over unchanged ones the sums of
    # confidence, shift and squared shift.
    sums = np.zeros((len(images), 2, 5))
    for side, pairs in enumerate((first, second)):
        for pair in pairs:
            shift = pair.before - pair.after
            same = [0.0, pair.after, shift, shift**2] if not pair.changed else [1.0, 0.0, 0.0, 0.0]
            sums[images[pair.image], side] += [1.0, *same]
    total, unchanged = sums[:, :, 0].sum(0), (sums[:, :, 0] - sums[:, :, 1]).sum(0)
    resampled = resampled_sums(sums.reshape(len(images), -1), seed).reshape(-1, 2, 5)
    for measure in ("changed", "confidence", "shift", "spread"):
        difference = _differences(measure, sums.sum(0)[None])
        if measure == "changed":
            of_images = (sums[:, 0, 1] / total[0] - sums[:, 1, 1] / total[1]) * len(images)
            low, high = (100.0 * end for end in paired_share_interval(of_images))
            yield measure, (float(difference[0]), low, high), int(total.min())
        elif unchanged.min() >= 2:
            value, others = float(difference[0]), _differences(measure, resampled)
            low, high = bootstrap_interval(value, others[np.isfinite(others)], (-2.0, 2.0))
            yield measure, (value, low, high), int(unchanged.min())


def _differences(measure: str, sums: np.ndarray) -> np.ndarray:
    """Return the measure of the first captioner minus the measure of the second, (n,), from sums (n, 2, 5)."""
    samples, changed, confidence, shift, squares = np.moveaxis(sums, -1, 0)
    same = samples - changed
    with np.errstate(invalid="ignore", divide="ignore"):  # a resample may have no unchanged caption
        values = {
            "changed": lambda: 100.0 * changed / samples,
            "confidence": lambda: confidence / same,
            "shift": lambda: shift / same,
            "spread": lambda: np.sqrt(np.clip(squares / same - (shift / same) ** 2, 0, None)),
        }[measure]()
    return np.asarray(-np.diff(values, axis=1)[:, 0])


def ablation_table(run: ScenesRun, coverage: Sequence[Row], tests: Sequence[Row], provenance: Provenance) -> Table:
    """Return the numbers of Figures 6, 7 and 12 and of section 6: changed captions, confidence and its shift.

    `coverage` are rows of COVERAGE, `tests` are rows of SPLITS.
    """
    sheet, blocks, splits = scenes_sheet(run, provenance), [], run.found("source", ABLATION)
    for split in splits:
        levels = sorted(run.found("level", ABLATION, source=split), key=lambda level: level or 0)
        lines = [
            Line(
                [role, "1, 2, ... together" if level is None else f"{level:g}"],
                {"subject": role, "experiment": ABLATION, "source": split, "level": level},
                role if level is None and split == run.split else None,
            )
            for role in ROLES
            for level in levels
        ]
        rows = rows_of(sheet, "text", "6.2", run.corpus, lines, NUMBERS)
        for line, cells in zip(lines, rows, strict=True):
            samples = run.value(run.place(**line.place, measure="changed"))
            cells.append(Cell(str(samples.n) if samples else MISSING))
        blocks.append(Block(rows, f"split {split}"))
    sheet.notes += [_coverage_note(sheet, coverage), *(_test_note(sheet, test, len(tests)) for test in tests)]
    for split in splits:
        if apart := run.difference(run.place(ABLATION, FINETUNED, "spread", source=split), PRETRAINED):
            cell = interval_cell(apart.ends, "+.4f")
            sheet.notes.append(
                f"Split {split}: the standard deviation of the shifts of the finetuned captioner is {cell.text} "
                f"{cell.detail} above that of the pretrained one."
            )
    sheet.notes.append(
        f"{OVER_IMAGES} Confidence: geometric mean of the token probabilities. Shift: confidence before minus after, "
        "so a negative one is a caption that the captioner is surer of when it sees less."
    )
    return sheet.table(
        "scenes_figure6_ablation",
        "Scenes, figures 6, 7 and 12: what ablation of diagnostic objects changes",
        "Captions of images without the objects that tell their scene, against captions of the whole images.",
        [*columns_of(["captioner", "objects removed"], NUMBERS), Column("samples")],
        blocks,
    )


def _coverage_note(sheet: Sheet, coverage: Sequence[Row]) -> str:
    """Return a note on the share of regions with the tag of an object, in per cent, with an interval over images."""
    counts = np.array([[row["tagged"], row["regions"]] for row in coverage], dtype=np.float64).reshape(-1, 2)
    tagged, regions = counts.sum(axis=0)
    measured = None
    if regions:
        # Variance of a ratio of sums over images (Cochran 1977, section 6.4).
        apart = counts[:, 0] - tagged / regions * counts[:, 1]
        variance = len(counts) * float(apart.var()) * len(counts) / max(1, len(counts) - 1) / regions**2
        share = float(tagged / regions)
        low, high = share_interval(share, variance, len(counts), int(regions))
        measured = Measured(100 * share, 100 * low, 100 * high, 1, len(counts))
    theirs = sheet.run.published.find("text", "regions", "6.1", "tagged")
    ours, paper = sheet.pair({"experiment": ABLATION, "measure": "tagged regions"}, measured, theirs, 1)
    shown = " ".join(filter(None, (ours.text, ours.detail)))
    return f"Regions that get the tag of an object, %: {shown} in this run, {paper.text} in the paper."


def _test_note(sheet: Sheet, test: Row, tests: int) -> str:
    """Return a note on the z-test between two splits.

    The paper's numbers stand beside the finetuned captioner's if there is one test per role.
    """
    role, split, against = (test[name] for name in ("captioner", "split", "against"))
    what = f"Confidence shifts of the {role} captioner, {split} against {against}: "
    if test["z"] is None:
        return f"{what}too few unchanged captions for a z-test."
    texts = []
    # The paper prints neither number with an interval, so they are not judged even if they are comparable.
    verdict: Verdict | None = "not judged" if sheet.run.comparable else None
    for name in ("z", "p_value"):
        shown = role == FINETUNED and tests == len(ROLES)
        theirs = sheet.run.published.find("text", FINETUNED, "C", name) if shown else None
        place = {"experiment": ABLATION, "subject": role, "source": split, "measure": name, "against": against}
        number = without_interval(test[name], 0)
        ours, paper = sheet.pair(place, number, theirs, interval=False, verdict=verdict)
        texts.append(f"{name.split('_')[0]} = {ours.text}" + (f" (paper {paper.text})" if theirs else ""))
    return f"{what}{', '.join(texts)}."
