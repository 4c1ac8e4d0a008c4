"""Tables 1, 3 and 6: captions of a few images, with the images; and which caption each scorer would choose of all."""

from collections.abc import Mapping, Sequence
from typing import Any

from captionlab.papers.probing.pages import Captioned, Pages
from captionlab.papers.probing.paper import REFERENCE
from captionlab.papers.probing.run import ProbingRun, Provenance
from captionlab.reporting.render import MISSING, Block, Cell, Column, Table
from captionlab.reporting.runs import Place
from captionlab.reporting.sheets import PROVENANCE, Sheet

EXAMPLES = 3
RECORD_COLUMNS = ("corpus", "image_id", "part", "label", "caption", "scorer", "score", "chosen", *PROVENANCE)
CHOSEN = " ✓"


def _record(*values: Any) -> dict[str, Any]:
    """The columns of a record that say nothing of the run."""
    return dict(zip(RECORD_COLUMNS, values, strict=False))


def choice_image(pages: Pages, scorers: Sequence[str]) -> str | None:
    """The first image for which most scorers would choose another caption than the reference's; None without any."""
    others: dict[str, int] = {}
    for image in pages.images:
        if len(options := _options(pages, image)) > 1:
            others[image] = sum(chosen(options, scorer) not in (None, REFERENCE) for scorer in scorers)
    return max(others, key=lambda image: others[image], default=None)


def chosen(options: Mapping[str, Captioned], scorer: str) -> str | None:
    """The caption that a scorer gives the highest score, the first of equal ones; None when it scored none."""
    scores = {label: caption.scores[scorer] for label, caption in options.items() if scorer in caption.scores}
    return max(scores, key=lambda label: scores[label]) if scores else None


def _options(pages: Pages, image: str) -> dict[str, Captioned]:
    """The reference's caption of an image, then its nouns in each template."""
    return {
        REFERENCE: pages.generated[REFERENCE][pages.corpus, image],
        **dict(sorted(pages.in_templates(image).items())),
    }


def constructed_images(pages: Pages, count: float) -> list[str]:
    """The first image whose caption has three nouns, as in the paper, or most; and the first that has `count` nouns."""
    made = {image: next(iter(pages.in_templates(image).values()), None) for image in pages.images}
    nouns = {image: len(one.words) for image, one in made.items() if one}
    first = min(nouns, key=lambda image: abs(nouns[image] - 3), default=None)
    second = next((image for image in pages.images if pages.with_nouns(image, count)), None)
    return [image for image in (first, second) if image is not None]


def choices_table(run: ProbingRun, pages: Sequence[Pages], provenance: Provenance) -> Table:
    """Table 1: which of six captions each scorer would choose, of one image and of all."""
    sheet = Sheet(run, provenance)
    columns = [Column(name, numeric=False) for name in ("caption", "made for", "text")]
    columns += [Column(scorer, group="by") for scorer in run.scorers]
    blocks: list[Block] = []
    records: list[dict[str, Any]] = []
    for page in pages:
        image = choice_image(page, run.scorers)
        if image is None:
            continue
        options = _options(page, image)
        choices = {scorer: chosen(options, scorer) for scorer in run.scorers}
        heads = {label: [Cell(f"({chr(ord('a') + number)})"), Cell(label)] for number, label in enumerate(options)}
        rows = []
        for label, option in options.items():
            row = [*heads[label], Cell(option.caption)]
            for scorer in run.scorers:
                score, is_chosen = option.scores.get(scorer), choices[scorer] == label
                row.append(Cell(MISSING if score is None else f"{score:.1f}{CHOSEN if is_chosen else ''}"))
                records.append(_record(page.corpus, image, "scores", label, option.caption, scorer, score, is_chosen))
            rows.append(row)
        heading = f"{page.label}, image {image}: scores, and the choice of each scorer"
        blocks.append(Block(rows, heading, page.picture(image)))
        shares, what = [], "chosen, % of images"
        for label, head in heads.items():
            where = ("generated", None) if label == REFERENCE else ("template", "published")
            places = [Place(label, page.corpus, "chosen", scorer, *where) for scorer in run.scorers]
            shares.append([*head, Cell(what), *(sheet.value(place)[0] for place in places)])
            for place, ours in zip(places, map(run.value, places), strict=True):
                share = ours and ours.value
                records.append(_record(page.corpus, None, what, label, None, place.scorer, share, None))
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


def examples_table(run: ProbingRun, pages: Sequence[Pages], provenance: Provenance) -> Table:
    """Table 3: captions of every role for a few images, evenly spread over the order of the corpus."""
    sheet = Sheet(run, provenance)
    blocks: list[Block] = []
    records: list[dict[str, Any]] = []
    for page in pages:
        number = len(page.images)
        for image in (page.images[place * number // EXAMPLES] for place in range(min(EXAMPLES, number))):
            rows = []
            for role in sorted(run.roles, key=lambda role: role != REFERENCE):
                found = page.caption(role, image)
                if found is None:
                    continue
                own = run.rewards.get(role, ())
                scores = {scorer: found.scores[scorer] for scorer in own if scorer in found.scores}
                shown = [f"{score:.1f}" if len(scores) == 1 else f"{one} {score:.1f}" for one, score in scores.items()]
                rows.append([Cell(role), Cell(found.caption), Cell(", ".join(shown))])
                for scorer, score in scores.items() or [(None, None)]:
                    records.append(_record(page.corpus, image, "generated", role, found.caption, scorer, score, None))
            blocks.append(Block(rows, f"{page.label}, image {image}", page.picture(image)))
    sheet.notes.append(
        "The images are spread evenly over the corpus, not chosen. Captions are of the first training of a role."
    )
    return sheet.table(
        "probing_table3_examples",
        "Probing, table 3: captions of captioners trained on scorers",
        f"Captions by every captioner for {EXAMPLES} images.",
        [Column("captioner", numeric=False), Column("caption", numeric=False), Column("score by its scorer")],
        blocks,
        records,
        RECORD_COLUMNS,
    )


def constructed_table(run: ProbingRun, pages: Sequence[Pages], count: float, provenance: Provenance) -> Table:
    """Table 6: nouns of a caption in each template, and so many nouns of caption and references."""
    blocks: list[Block] = []
    records: list[dict[str, Any]] = []
    for page in pages:
        for number, image in enumerate(constructed_images(page, count)):
            if number == 0:
                made, what = page.in_templates(image), f"nouns of the {REFERENCE} caption"
                lines = [(REFERENCE, _options(page, image)[REFERENCE].caption)]
            else:
                made, what = page.with_nouns(image, count), f"{count:g} nouns of caption and references"
                lines = []
            lines.append(("visual words", ", ".join(next(iter(made.values())).words)))
            lines += [(model, made[model].caption) for model in run.scorers if model in made]
            rows = [[Cell(label), Cell(text)] for label, text in lines]
            blocks.append(Block(rows, f"{page.label}, image {image}: {what}", page.picture(image)))
            records += [_record(page.corpus, image, what, label, text, None, None, None) for label, text in lines]
    return Sheet(run, provenance).table(
        "probing_table6_constructed",
        "Probing, table 6: constructed captions",
        "Visual words in the template of each scorer.",
        [Column("template", numeric=False), Column("caption", numeric=False)],
        blocks,
        records,
        RECORD_COLUMNS,
    )
