"""Tables 1, 3 and 6: example captions with their images, and the caption that each scorer would choose."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from captionlab.generation.captions import evaluated_images
from captionlab.images.locations import LOCATION
from captionlab.language.schemas import CONSTRUCTED
from captionlab.papers.probing.constructed import PrintedScorer
from captionlab.papers.probing.roles import MODELS, REFERENCE
from captionlab.papers.probing.values import ProbingRun
from captionlab.reporting.claims.reading import Path, Provenance, read_rows
from captionlab.reporting.runs.reproduction import in_order
from captionlab.reporting.runs.values import Coordinates, Row
from captionlab.reporting.tables.render import MISSING, Block, Cell, Column, Table
from captionlab.reporting.tables.sheets import PROVENANCE, Sheet
from captionlab.reporting.tables.thumbnails import thumbnail
from captionlab.storage.row_groups import read_chosen
from captionlab.storage.schemas import ALIGNMENT, GENERATED, IMAGES

EXAMPLES = 3
RECORD_COLUMNS = ("corpus", "image_id", "part", "label", "caption", "scorer", "score", "chosen", *PROVENANCE)
CHOSEN = " ✓"


@dataclass(frozen=True)
class Captioned:
    """A caption of an image with its printed scores; `words` are the inserted words of a constructed caption."""

    caption: str
    scores: Mapping[str, float] = field(default_factory=dict)
    words: Sequence[str] = ()


# Corpus and image.
Image = tuple[str, str]
# Experiment, model, source, number of nouns (None for all).
Way = tuple[str, str, str, float | None]
KEY = ("corpus", "image_id", "caption_index")


@dataclass(frozen=True)
class Pages:
    """The data that examples of a corpus are taken from.

    `images` are the evaluated images in order, `table` is the corpus's table of images. `generated` has captions by
    role and image, of the first training of each role. `constructed` has captions in templates by image and by the way
    they were constructed.
    """

    label: str
    corpus: str
    images: Sequence[str]
    table: Path
    generated: Mapping[str, Mapping[Image, Captioned]]
    constructed: Mapping[Image, Mapping[Way, Captioned]]

    def picture(self, image: str) -> bytes:
        """Return a PNG of an image, empty if its file can no longer be read."""
        return thumbnail(read_chosen(self.table, IMAGES, ["image_id", *LOCATION], [image]).to_pylist()[0])

    def in_templates(self, image: str) -> dict[str, Captioned]:
        """Return the captions of an image in the published templates, by model."""
        made = self.constructed.get((self.corpus, image), {})
        return {way[1]: one for way, one in made.items() if (way[0], way[2]) == ("template", "published")}

    def with_nouns(self, image: str, count: float) -> dict[str, Captioned]:
        """Return the captions of an image with this number of nouns, by model."""
        made = self.constructed.get((self.corpus, image), {})
        return {way[1]: one for way, one in made.items() if (way[0], way[3]) == ("count", count)}

    def options(self, image: str) -> dict[str, Captioned]:
        """Return the reference's caption of an image, then its nouns in each template, in the paper's order."""
        made = self.in_templates(image)
        options = {model: made[model] for model in in_order(made, MODELS)}
        return {REFERENCE: self.generated[REFERENCE][self.corpus, image], **options}


def read_pages(inputs: Row, params: Row) -> list[Pages]:
    """Return the data of each corpus, from the files and parameters of a job of the paper."""
    scorers = {name: PrintedScorer(**printed) for name, printed in params["scorers"].items()}
    # The last entry overrides the reference's captions: Table 1 is constructed from the original captions of the first
    # training.
    files = [*zip(params["roles"], inputs["captions"], inputs["alignment"], strict=True)]
    files.append((REFERENCE, inputs["originals"][0], inputs["original_alignment"][0]))
    generated = {
        role: {place[:2]: one for place, one in _read_captions(captions, alignment, scorers).items() if place[2] == 0}
        for role, captions, alignment in files
    }
    captions = _read_captions(inputs["constructed"][0], inputs["constructed_alignment"][0], scorers)
    constructed: dict[Image, dict[Way, Captioned]] = defaultdict(dict)
    for row in read_rows(inputs["constructions"][0], CONSTRUCTED):
        if row["template"] is not None:
            place = tuple(row[name] for name in KEY)
            level = row["level"] if row["experiment"] == "count" else None
            way = row["experiment"], row["subject"], row["source"], level
            constructed[row["corpus"], row["image_id"]][way] = replace(captions[place], words=row["words"])
    tables, splits = dict(zip(params["corpora"], inputs["images"], strict=True)), params["job"]["splits"]
    images = {corpus: evaluated_images(table, corpus, splits[corpus]) for corpus, table in tables.items()}
    return [
        Pages(label, corpus, images[corpus], tables[corpus], generated, constructed)
        for label, corpus in sorted(params["config"]["corpora"].items())
    ]


def _read_captions(
    captions: Path, alignment: Path, scorers: Mapping[str, PrintedScorer]
) -> dict[tuple[Any, ...], Captioned]:
    """Return captions with their scores, by KEY."""
    scores: dict[tuple[Any, ...], dict[str, float]] = defaultdict(dict)
    for row in read_rows(alignment, ALIGNMENT):
        if scorer := scorers.get(row["scorer"]):
            scores[tuple(row[name] for name in KEY)][scorer.label] = row["score"] * scorer.factor
    places = ((tuple(row[name] for name in KEY), row["caption"]) for row in read_rows(captions, GENERATED))
    return {place: Captioned(caption, scores.get(place, {})) for place, caption in places}


def _records(rows: Iterable[Sequence[Any]]) -> list[dict[str, Any]]:
    """Return records from rows of the first columns. The remaining columns are None."""
    return [dict.fromkeys(RECORD_COLUMNS) | dict(zip(RECORD_COLUMNS, row, strict=False)) for row in rows]


def chosen(options: Mapping[str, Captioned], scorer: str) -> str | None:
    """Return the label of the option that a scorer scores highest, the first of equal ones; None if none is scored."""
    scores = {label: caption.scores[scorer] for label, caption in options.items() if scorer in caption.scores}
    return max(scores, key=lambda label: scores[label]) if scores else None


def choices_table(run: ProbingRun, pages: Sequence[Pages], provenance: Provenance) -> Table:
    """Return Table 1: the choice of each scorer among the reference's caption and its nouns in each template.

    The table has one image, and shares over all images.
    """
    sheet = Sheet(run, provenance)
    columns = [Column(name, numeric=False) for name in ("caption", "made for", "text")]
    columns += [Column(scorer, group="by") for scorer in run.scorers]
    blocks: list[Block] = []
    records: list[Sequence[Any]] = []
    for page in pages:
        by_image = {image: options for image in page.images if len(options := page.options(image)) > 1}
        choices_of = {
            image: {scorer: chosen(options, scorer) for scorer in run.scorers} for image, options in by_image.items()
        }
        if not by_image:
            continue
        # The first image for which most scorers would choose another caption than the reference's.
        image = max(by_image, key=lambda one: sum(of not in (None, REFERENCE) for of in choices_of[one].values()))
        options, choices = by_image[image], choices_of[image]
        heads = {label: [Cell(f"({chr(ord('a') + number)})"), Cell(label)] for number, label in enumerate(options)}
        rows = []
        for label, option in options.items():
            row = [*heads[label], Cell(option.caption)]
            for scorer in run.scorers:
                score, is_chosen = option.scores.get(scorer), choices[scorer] == label
                row.append(Cell(MISSING if score is None else f"{score:.1f}{CHOSEN if is_chosen else ''}"))
                records.append((page.corpus, image, "scores", label, option.caption, scorer, score, is_chosen))
            rows.append(row)
        heading = f"{page.label}, image {image}: scores, and the choice of each scorer"
        blocks.append(Block(rows, heading, page.picture(image)))
        shares, what = [], "chosen, % of images"
        for label, head in heads.items():
            where = ("generated", None) if label == REFERENCE else ("template", "published")
            places = [Coordinates(label, page.corpus, "chosen", scorer, *where) for scorer in run.scorers]
            shares.append([*head, Cell(what), *(sheet.value(place)[0] for place in places)])
            for place, ours in zip(places, map(run.value, places), strict=True):
                records.append((page.corpus, None, what, label, None, place.scorer, ours and ours.value))
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
        _records(records),
        RECORD_COLUMNS,
    )


def examples_table(run: ProbingRun, pages: Sequence[Pages], provenance: Provenance) -> Table:
    """Return Table 3: captions of every role for a few images, evenly spread over the order of the corpus."""
    sheet = Sheet(run, provenance)
    blocks: list[Block] = []
    records: list[Sequence[Any]] = []
    for page in pages:
        number = len(page.images)
        for image in (page.images[place * number // EXAMPLES] for place in range(min(EXAMPLES, number))):
            rows = []
            for role in sorted(run.roles, key=lambda role: role != REFERENCE):
                if (found := page.generated.get(role, {}).get((page.corpus, image))) is None:
                    continue
                own = run.rewards.get(role, ())
                scores = {scorer: found.scores[scorer] for scorer in own if scorer in found.scores}
                shown = [f"{score:.1f}" if len(scores) == 1 else f"{one} {score:.1f}" for one, score in scores.items()]
                rows.append([Cell(role), Cell(found.caption), Cell(", ".join(shown))])
                for scorer, score in scores.items() or [(None, None)]:
                    records.append((page.corpus, image, "generated", role, found.caption, scorer, score))
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
        _records(records),
        RECORD_COLUMNS,
    )


def constructed_table(run: ProbingRun, pages: Sequence[Pages], count: float, provenance: Provenance) -> Table:
    """Return Table 6: the nouns of a caption in each template, and `count` nouns of caption and references."""
    blocks: list[Block] = []
    records: list[Sequence[Any]] = []
    for page in pages:
        # The first image whose caption has three nouns, as in the paper, or nearest to three; and the first image with
        # `count` nouns.
        of_caption = {image: made for image in page.images if (made := page.in_templates(image))}
        with_more = {image: made for image in page.images if (made := page.with_nouns(image, count))}
        nouns = {image: len(next(iter(made.values())).words) for image, made in of_caption.items()}
        first = sorted(nouns, key=lambda image: abs(nouns[image] - 3))[:1]
        shown = [(image, of_caption[image], f"nouns of the {REFERENCE} caption", [REFERENCE]) for image in first]
        shown += [(one, with_more[one], f"{count:g} nouns of caption and references", []) for one in [*with_more][:1]]
        for image, made, what, given in shown:
            lines = [(role, page.generated[role][page.corpus, image].caption) for role in given]
            lines.append(("visual words", ", ".join(next(iter(made.values())).words)))
            lines += [(model, made[model].caption) for model in run.scorers if model in made]
            rows = [[Cell(label), Cell(text)] for label, text in lines]
            blocks.append(Block(rows, f"{page.label}, image {image}: {what}", page.picture(image)))
            records += [(page.corpus, image, what, *line) for line in lines]
    return Sheet(run, provenance).table(
        "probing_table6_constructed",
        "Probing, table 6: constructed captions",
        "Visual words in the template of each scorer.",
        [Column("template", numeric=False), Column("caption", numeric=False)],
        blocks,
        _records(records),
        RECORD_COLUMNS,
    )
