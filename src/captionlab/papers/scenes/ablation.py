"""The numbers of Figures 4 to 7, 10 and 12: attention, and what ablation changes in captions and confidence."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from captionlab.ablation.comparison import changed
from captionlab.intervals import share_interval
from captionlab.papers.scenes.run import ScenesRun, scenes_sheet, without_interval
from captionlab.reporting.footnotes import OVER_IMAGES
from captionlab.reporting.render import MISSING, Block, Cell, Column, Table
from captionlab.reporting.runs import Measured
from captionlab.reporting.sheets import PROVENANCE, Sheet
from captionlab.roles import ROLES

Row = Mapping[str, Any]
EXAMPLES = 3
EXAMPLE_COLUMNS = (
    "image_id", "split", "scene", "captioner", "removed", "before", "after", "changed", *PROVENANCE,
)  # fmt: skip


def attention_table(run: ScenesRun, differences: Sequence[Row], provenance: Mapping[str, Any]) -> Table:
    """The numbers of Figure 4: deviation and mass of the attention by relation. differences: rows of DIFFERENCES."""
    sheet = scenes_sheet(run, provenance)
    p_values = {(row["relation"], row["statistic"]): row["p_value"] for row in differences}
    columns = [Column("relation", "query-key", numeric=False), *(Column(role) for role in ROLES)]
    columns += [Column("difference"), Column("p"), Column("images")]
    blocks = []
    for measure, heading in (("deviation", "standard deviation of the attention"), ("mass", "attention mass")):
        rows = []
        for relation in run.found("source", "attention"):
            places = [run.place("attention", role, measure, source=relation) for role in ROLES]
            cells = [sheet.value(place, decimals=3)[0] for place in places]
            apart = run.difference(run.place("attention", "finetuned", measure, source=relation), "pretrained")
            place = {"experiment": "attention", "subject": "finetuned", "source": relation, "measure": measure}
            cells.append(sheet.pair({**place, "against": "pretrained"}, apart, None, 3)[0])
            p_value = p_values.get((relation, measure))
            cells += [Cell(MISSING if p_value is None else f"{p_value:.2g}"), Cell(str(apart.n) if apart else MISSING)]
            rows.append([Cell(relation), *cells])
        blocks.append(Block(rows, heading))
    apart = run.difference(run.place("attention", "finetuned", "deviation", source="all"), "pretrained")
    number = without_interval(apart.n, apart.n) if apart else None
    theirs = run.published.find("text", "attention", "5", "images")
    place = {"experiment": "attention", "source": "all", "measure": "images"}
    ours, paper = sheet.pair(place, number, theirs, 0, interval=False)
    sheet.notes.append(f"Images: {ours.text} (paper {paper.text}).")
    sheet.notes.append(
        f"{OVER_IMAGES} Values are maxima over heads among word pieces of tags and regions; difference: finetuned "
        "minus pretrained, with a two-sided paired bootstrap test. The paper shows these numbers as a density only."
    )
    return sheet.table(
        "scenes_figure4_attention",
        "Scenes, figure 4: how attention is spread",
        "Attention between tags and regions of the same images before and after finetuning on scenes.",
        columns,
        blocks,
    )


def drawing_tokens(run: ScenesRun) -> list[str]:
    """The special tokens that draw any attention."""
    return [
        target
        for target in run.found("measure", "special tokens")
        if max(run.found("value", "special tokens", measure=target)) > 0
    ]


def special_table(run: ScenesRun, provenance: Mapping[str, Any]) -> Table:
    """The numbers of Figure 10: attention that special tokens draw, by layer and by what attends."""
    sheet = scenes_sheet(run, provenance)
    attending = run.found("source", "special tokens")
    layers = sorted(run.found("level", "special tokens"))
    columns = [Column("layer", numeric=False)]
    columns += [Column(kind, "%", role) for role in ROLES for kind in attending]
    blocks, drawing = [], drawing_tokens(run)
    for target in run.found("measure", "special tokens"):
        rows = []
        for layer in layers:
            row = [Cell(f"{layer:g}")]
            for role in ROLES:
                for kind in attending:
                    place = run.place("special tokens", role, target, source=kind, level=layer)
                    ours = run.value(place)
                    sheet.pair(asdict(place), ours, None, interval=target in drawing)
                    row.append(_per_cent(ours, interval=target in drawing))
            rows.append(row)
        blocks.append(Block(rows, f"drawn by {target}"))
    if hidden := [target for target in run.found("measure", "special tokens") if target not in drawing]:
        sheet.notes.append(f"Nothing attends to {', '.join(hidden)}: padding is masked. Figure 10 has no panel of it.")
    sheet.notes.append(f"{OVER_IMAGES} Means over heads and positions; captions are the captioner's own.")
    return sheet.table(
        "scenes_figure10_special_tokens",
        "Scenes, figure 10: attention that special tokens draw",
        "Share of the attention of captions, tags, regions and special tokens that goes to special tokens, by layer.",
        columns,
        blocks,
    )


def _per_cent(ours: Measured | None, interval: bool) -> Cell:
    """A share with its interval; what is masked is 0 without one."""
    if ours is None:
        return Cell(MISSING)
    low, high = (f"{100 * end:.1f}" for end in (ours.ci_low, ours.ci_high))
    return Cell(f"{100 * ours.value:.1f}", f"[{low}, {high}]" if interval else "")


def ablation_table(
    run: ScenesRun, coverage: Sequence[Row], tests: Sequence[Row], provenance: Mapping[str, Any]
) -> Table:
    """The numbers of Figures 6, 7 and 12 and of section 6: changed captions, confidence and its shift.

    `coverage` are rows of COVERAGE, `tests` of SPLITS.
    """
    sheet = scenes_sheet(run, provenance)
    columns = [Column("captioner", numeric=False), Column("objects removed", numeric=False)]
    columns += [Column("this run", "%", "captions that change"), Column("paper", group="captions that change")]
    columns += [Column("confidence after", group="unchanged captions"), Column("shift", group="unchanged captions")]
    columns += [Column("samples")]
    blocks = []
    for split in run.found("source", "ablation"):
        rows = []
        for role in ROLES:
            for level in sorted(run.found("level", "ablation", source=split), key=lambda level: level or 0):
                theirs = None
                if level is None and split == run.split:
                    theirs = run.published.find("text", role, "6.2", "captions changed")
                changes, *others = (
                    run.place("ablation", role, measure, source=split, level=level)
                    for measure in ("changed", "confidence", "shift")
                )
                row = sheet.value(changes, theirs, 1)
                row += [sheet.value(place, decimals=3)[0] for place in others]
                number = run.value(changes)
                samples = Cell(str(number.n) if number else MISSING)
                rows.append([Cell(role), Cell("1, 2, ... together" if level is None else f"{level:g}"), *row, samples])
        blocks.append(Block(rows, f"split {split}"))
    sheet.notes.append(_coverage_note(run, sheet, coverage))
    sheet.notes += [_test_note(run, sheet, test, len(tests)) for test in tests]
    for split in run.found("source", "ablation"):
        if apart := run.difference(run.place("ablation", "finetuned", "spread", source=split), "pretrained"):
            sheet.notes.append(
                f"Split {split}: the standard deviation of the shifts of the finetuned captioner is {apart.value:+.4f} "
                f"[{apart.ci_low:+.4f}, {apart.ci_high:+.4f}] above that of the pretrained one."
            )
    sheet.notes.append(
        f"{OVER_IMAGES} Confidence: geometric mean of the token probabilities. Shift: confidence before minus after, "
        "so a negative one is a caption that the captioner is surer of when it sees less."
    )
    return sheet.table(
        "scenes_figure6_ablation",
        "Scenes, figures 6, 7 and 12: what ablation of diagnostic objects changes",
        "Captions of images without the objects that tell their scene, against captions of the whole images.",
        columns,
        blocks,
    )


def _coverage_note(run: ScenesRun, sheet: Sheet, coverage: Sequence[Row]) -> str:
    regions = sum(row["regions"] for row in coverage)
    theirs = run.published.find("text", "regions", "6.1", "tagged")
    share = _tagged_share(coverage) if regions else None
    place = {"experiment": "ablation", "measure": "tagged regions"}
    ours, paper = sheet.pair(place, share, theirs, 1)
    shown = " ".join(filter(None, (ours.text, ours.detail)))
    return f"Regions that get the tag of an object, %: {shown} in this run, {paper.text} in the paper."


def _tagged_share(coverage: Sequence[Row]) -> Measured:
    """Regions with the tag of an object, in per cent of all, with an interval over images."""
    counts = np.array([[row["tagged"], row["regions"]] for row in coverage], dtype=np.float64)
    tagged, regions = counts.sum(axis=0)
    # Of a ratio of sums over images (Cochran 1977, section 6.4).
    apart = counts[:, 0] - tagged / regions * counts[:, 1]
    variance = len(counts) * float(apart.var()) * len(counts) / max(1, len(counts) - 1) / regions**2
    low, high = share_interval(float(tagged / regions), variance, len(counts), int(regions))
    return Measured(100 * float(tagged / regions), 100 * low, 100 * high, 1, len(coverage))


def _test_note(run: ScenesRun, sheet: Sheet, test: Row, tests: int) -> str:
    """The z-test between two splits; the paper's numbers beside the finetuned captioner's, where there is one test."""
    names = f"{test['captioner']} captioner, {test['split']} against {test['against']}"
    if test["z"] is None:
        return f"Confidence shifts of the {names}: too few unchanged captions for a z-test."
    texts = []
    for name in ("z", "p_value"):
        shown = test["captioner"] == "finetuned" and tests == len(ROLES)
        theirs = run.published.find("text", "finetuned", "C", name) if shown else None
        place = {"experiment": "ablation", "subject": test["captioner"], "source": test["split"], "measure": name}
        ours, paper = sheet.pair(
            {**place, "against": test["against"]},
            without_interval(test[name], 0),
            theirs,
            interval=False,
            verdict="not judged",
        )
        texts.append(f"{name.split('_')[0]} = {ours.text}" + (f" (paper {paper.text})" if theirs else ""))
    return f"Confidence shifts of the {names}: {', '.join(texts)}."


def shown_samples(rows: Sequence[Row], objects: int) -> list[Row]:
    """The first sample of each of a few scenes whose caption changes, among rows of ABLATED of the finetuned captioner.

    Of samples without so many objects; `rows` must have the captions of the whole images too.
    """
    whole = {row["image_id"]: row["caption"] for row in rows if not row["objects"]}
    found: dict[str, Row] = {}
    for row in rows:
        if row["objects"] == objects and changed(whole[row["image_id"]], row["caption"]):
            found.setdefault(row["scene"], row)
    return [found[scene] for scene in sorted(found)][:EXAMPLES]


def examples_table(
    run: ScenesRun,
    captions: Mapping[str, Sequence[Row]],
    pictures: Mapping[str, bytes],
    objects: int,
    provenance: Mapping[str, Any],
) -> Table:
    """Figure 5: captions before and after ablation. captions: rows of ABLATED by role; pictures: PNGs by image."""
    sheet = scenes_sheet(run, provenance)
    columns = [Column(name, numeric=False) for name in ("captioner", "whole image", "without the objects")]
    blocks, records = [], []
    for shown in shown_samples(captions["finetuned"], objects):
        image, scene = shown["image_id"], shown["scene"]
        rows = []
        for role in ROLES:
            of_image = [row for row in captions[role] if row["image_id"] == image]
            before = next(row["caption"] for row in of_image if not row["objects"])
            after = next(row["caption"] for row in of_image if (row["scene"], row["objects"]) == (scene, objects))
            rows.append([Cell(role), Cell(before), Cell(after if changed(before, after) else "the same")])
            records.append(
                {
                    "image_id": image, "split": shown["split"], "scene": scene, "captioner": role,
                    "removed": ", ".join(shown["labels"]), "before": before, "after": after,
                    "changed": changed(before, after),
                }
            )  # fmt: skip
        heading = f"{scene}, image {image}, without {', '.join(shown['labels'])}"
        blocks.append(Block(rows, heading, pictures.get(image, b"")))
    sheet.notes.append(
        "The first image of a scene whose scene caption changes: these are the exceptions, how frequent they are is in "
        "scenes_figure6_ablation."
    )
    return sheet.table(
        "scenes_figure5_examples",
        "Scenes, figure 5: captions that change",
        f"Captions before and after the {objects} most diagnostic objects of the scene are removed.",
        columns,
        blocks,
        records,
        EXAMPLE_COLUMNS,
    )
