"""Tables 1, 3 and 6: captions of a few images, with the images; and which caption each scorer would choose of all."""

from collections.abc import Mapping, Sequence
from typing import Any

from captionlab.papers.probing.pages import Captioned, Pages
from captionlab.papers.probing.paper import REFERENCE
from captionlab.papers.probing.run import ProbingRun
from captionlab.reporting.render import MISSING, Block, Cell, Column, Table
from captionlab.reporting.runs import Place
from captionlab.reporting.sheets import PROVENANCE, Sheet

EXAMPLES = 3
RECORD_COLUMNS = ("corpus", "image_id", "part", "label", "caption", "scorer", "score", "chosen", *PROVENANCE)
CHOSEN = " ✓"


def shown_images(images: Sequence[str]) -> list[str]:
    """A few images, evenly spread over the order of the corpus."""
    return [images[place * len(images) // EXAMPLES] for place in range(min(EXAMPLES, len(images)))]


def choice_image(pages: Pages, scorers: Sequence[str]) -> str | None:
    """The first image for which most scorers would choose another caption than the reference's; None without any."""
    found: tuple[int, str] | None = None
    for image in pages.images:
        options = _options(pages, image)
        if len(options) < 2:
            continue
        others = sum(chosen(options, scorer) not in (None, REFERENCE) for scorer in scorers)
        if found is None or others > found[0]:
            found = others, image
    return found[1] if found else None


def chosen(options: Mapping[str, Captioned], scorer: str) -> str | None:
    """The caption that a scorer gives the highest score, the first of equal ones; None when it scored none."""
    scores = {label: caption.scores[scorer] for label, caption in options.items() if scorer in caption.scores}
    return max(scores, key=lambda label: scores[label]) if scores else None


def constructed_images(pages: Pages, count: float) -> list[str]:
    """The first image whose caption has three nouns, as in the paper, or most; and the first that has `count` nouns."""
    templates = next(iter(pages.of_templates().values()), {})
    nouns = {image: len(templates[image].words) for image in pages.images if image in templates}
    first = min(nouns, key=lambda image: abs(nouns[image] - 3), default=None)
    counted = next(iter(pages.of_counts(count).values()), {})
    second = next((image for image in pages.images if image in counted), None)
    return [image for image in (first, second) if image is not None]


def choices_table(run: ProbingRun, pages: Sequence[Pages], provenance: Mapping[str, Any]) -> Table:
    """Table 1: which of six captions each scorer would choose, of one image and of all."""
    sheet = Sheet(run, provenance)
    columns = [Column("caption", numeric=False), Column("made for", numeric=False), Column("text", numeric=False)]
    columns += [Column(scorer, group="by") for scorer in run.scorers]
    blocks: list[Block] = []
    records: list[dict[str, Any]] = []
    for page in pages:
        image = choice_image(page, run.scorers)
        if image is None:
            continue
        options = _options(page, image)
        choices = {scorer: chosen(options, scorer) for scorer in run.scorers}
        rows = []
        for number, (label, option) in enumerate(options.items()):
            row = [Cell(f"({chr(ord('a') + number)})"), Cell(label), Cell(option.caption)]
            for scorer in run.scorers:
                score, is_chosen = option.scores.get(scorer), choices[scorer] == label
                row.append(Cell(MISSING if score is None else f"{score:.1f}{CHOSEN if is_chosen else ''}"))
                records.append(_record(page, image, "scores", label, option.caption, scorer, score, is_chosen))
            rows.append(row)
        heading = f"{page.label}, image {image}: scores, and the choice of each scorer"
        blocks.append(Block(rows, heading, page.picture(image)))
        shares = []
        for number, label in enumerate(options):
            place = ("generated", None) if label == REFERENCE else ("template", "published")
            row = [Cell(f"({chr(ord('a') + number)})"), Cell(label), Cell("chosen, % of images")]
            for scorer in run.scorers:
                row += sheet.value(Place(label, page.corpus, "chosen", scorer, *place))[:1]
                share = sheet.records[-1]["value"]
                records.append(_record(page, None, "chosen, % of images", label, None, scorer, share, None))
            shares.append(row)
        blocks.append(Block(shares, sheet.heading(page.label)))
    sheet.notes.append(
        f"{CHOSEN.strip()}: the caption that the scorer gives the highest score, of equal ones the first. The image is "
        f"the first for which most scorers choose another than the {REFERENCE} caption, so it is no typical one; the "
        "shares below are of all images whose caption has a noun. In the paper's example each scorer chooses the "
        "caption that is made for it."
    )
    return sheet.table(
        "probing_table1_choices",
        "Probing, table 1: which caption matches the image better?",
        f"The {REFERENCE} caption and its nouns in the template of each scorer, by every scorer.",
        columns,
        blocks,
        records,
        RECORD_COLUMNS,
    )


def examples_table(run: ProbingRun, pages: Sequence[Pages], provenance: Mapping[str, Any]) -> Table:
    """Table 3: captions of every role for a few images."""
    sheet = Sheet(run, provenance)
    columns = [Column("captioner", numeric=False), Column("caption", numeric=False), Column("score by its scorer")]
    blocks: list[Block] = []
    records: list[dict[str, Any]] = []
    for page in pages:
        for image in shown_images(page.images):
            rows = []
            for role in sorted(run.roles, key=lambda role: role != REFERENCE):
                found = page.generated.get(role, {}).get(image)
                if found is None:
                    continue
                scores = {
                    scorer: found.scores[scorer] for scorer in run.rewards.get(role, ()) if scorer in found.scores
                }
                shown = ", ".join(
                    f"{score:.1f}" if len(scores) == 1 else f"{scorer} {score:.1f}" for scorer, score in scores.items()
                )
                rows.append([Cell(role), Cell(found.caption), Cell(shown)])
                for scorer, score in scores.items() or [(None, None)]:
                    records.append(_record(page, image, "generated", role, found.caption, scorer, score, None))
            blocks.append(Block(rows, f"{page.label}, image {image}", page.picture(image)))
    sheet.notes.append(
        "The images are spread evenly over the corpus, not chosen. Captions are of the first training of a role."
    )
    return sheet.table(
        "probing_table3_examples",
        "Probing, table 3: captions of captioners trained on scorers",
        f"Captions by every captioner for {EXAMPLES} images.",
        columns,
        blocks,
        records,
        RECORD_COLUMNS,
    )


def constructed_table(run: ProbingRun, pages: Sequence[Pages], count: float, provenance: Mapping[str, Any]) -> Table:
    """Table 6: nouns of a caption in each template, and so many nouns of caption and references."""
    sheet = Sheet(run, provenance)
    columns = [Column("template", numeric=False), Column("caption", numeric=False)]
    blocks: list[Block] = []
    records: list[dict[str, Any]] = []
    for page in pages:
        for number, image in enumerate(constructed_images(page, count)):
            made = page.of_templates() if number == 0 else page.of_counts(count)
            words = next((of_model[image].words for of_model in made.values() if image in of_model), ())
            rows = []
            if number == 0:
                rows.append([Cell(REFERENCE), Cell(page.generated[REFERENCE][image].caption)])
            rows.append([Cell("visual words"), Cell(", ".join(words))])
            rows += [
                [Cell(model), Cell(made[model][image].caption)] for model in run.scorers if image in made.get(model, {})
            ]
            what = f"nouns of the {REFERENCE} caption" if number == 0 else f"{count:g} nouns of caption and references"
            blocks.append(Block(rows, f"{page.label}, image {image}: {what}", page.picture(image)))
            records += [_record(page, image, what, row[0].text, row[1].text, None, None, None) for row in rows]
    return sheet.table(
        "probing_table6_constructed",
        "Probing, table 6: constructed captions",
        "Visual words in the template of each scorer.",
        columns,
        blocks,
        records,
        RECORD_COLUMNS,
    )


def _options(pages: Pages, image: str) -> dict[str, Captioned]:
    """The reference's caption of an image, then its nouns in each template."""
    options = {REFERENCE: pages.generated[REFERENCE][image]}
    templates = pages.of_templates()
    return options | {model: found[image] for model, found in sorted(templates.items()) if image in found}


def _record(
    pages: Pages,
    image: str | None,
    part: str,
    label: str,
    caption: str | None,
    scorer: str | None,
    score: Any,
    is_chosen: bool | None,
) -> dict[str, Any]:
    return {
        "corpus": pages.corpus, "image_id": image, "part": part, "label": label, "caption": caption, "scorer": scorer,
        "score": score, "chosen": is_chosen,
    }  # fmt: skip
