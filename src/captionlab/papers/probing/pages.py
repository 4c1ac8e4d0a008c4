"""What the examples of the tables are taken from: captions with their scores, by captioner and image."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow.compute as pc

from captionlab.generation.captions import evaluated_images
from captionlab.language.schemas import CONSTRUCTED
from captionlab.papers.probing.roles import PrintedScorer
from captionlab.reporting.thumbnails import thumbnail
from captionlab.schemas import ALIGNMENT, GENERATED, IMAGES
from captionlab.tables import read_table

Path = str | os.PathLike[str]


@dataclass(frozen=True)
class Captioned:
    """A caption of an image, its scores as they are printed, and of a constructed one the words that were put in."""

    caption: str
    scores: Mapping[str, float] = field(default_factory=dict)
    words: Sequence[str] = ()


# Experiment, model, source, number of nouns (None for all).
Way = tuple[str, str, str, float | None]


@dataclass(frozen=True)
class Pages:
    """What the examples are taken from, on one corpus.

    images: its evaluated images in order; table: its table of images. generated: captions by role and image, of the
    first training of each role. constructed: captions by the way they were constructed, and image.
    """

    label: str
    corpus: str
    images: Sequence[str]
    table: Path
    generated: Mapping[str, Mapping[str, Captioned]]
    constructed: Mapping[Way, Mapping[str, Captioned]]

    def picture(self, image: str) -> bytes:
        """A PNG of an image, perhaps nothing."""
        rows = read_table(self.table, IMAGES, ["image_id", "path", "data"])
        return thumbnail(rows.filter(pc.equal(rows["image_id"], image)).to_pylist()[0])

    def of_templates(self, source: str = "published") -> dict[str, Mapping[str, Captioned]]:
        """Captions in the templates of a source, by model."""
        return {way[1]: found for way, found in self.constructed.items() if way[0] == "template" and way[2] == source}

    def of_counts(self, count: float) -> dict[str, Mapping[str, Captioned]]:
        """Captions with so many nouns, by model."""
        return {way[1]: found for way, found in self.constructed.items() if way[0] == "count" and way[3] == count}


def read_generated(
    captions: Path, alignment: Path, scorers: Mapping[str, PrintedScorer]
) -> dict[tuple[str, str], Captioned]:
    """The first caption of each corpus and image of a captioner, with its scores."""
    scores = _scores(alignment, scorers)
    return {
        (row["corpus"], row["image_id"]): Captioned(row["caption"], scores.get((row["corpus"], row["image_id"], 0), {}))
        for row in read_table(captions, GENERATED).to_pylist()
        if row["caption_index"] == 0
    }


def read_constructed(
    captions: Path, constructions: Path, alignment: Path, scorers: Mapping[str, PrintedScorer]
) -> dict[tuple[str, Way], dict[str, Captioned]]:
    """Constructed captions in templates, by corpus and way, then by image."""
    scores = _scores(alignment, scorers)
    key = ("corpus", "image_id", "caption_index")
    texts = {tuple(row[name] for name in key): row["caption"] for row in read_table(captions, GENERATED).to_pylist()}
    found: dict[tuple[str, Way], dict[str, Captioned]] = {}
    for row in read_table(constructions, CONSTRUCTED).to_pylist():
        if row["template"] is not None:
            place = tuple(row[name] for name in key)
            level = row["level"] if row["experiment"] == "count" else None
            way = (row["experiment"], row["subject"], row["source"], level)
            caption = Captioned(texts[place], scores.get(place, {}), tuple(row["words"]))
            found.setdefault((row["corpus"], way), {})[row["image_id"]] = caption
    return found


def templates_of(constructions: Path) -> dict[tuple[str, str], str]:
    """The text of each template, by model and source."""
    rows = read_table(constructions, CONSTRUCTED, ["subject", "source", "template"]).to_pylist()
    return {(row["subject"], row["source"]): row["template"] for row in rows if row["template"] is not None}


def pages_of(
    corpora: Mapping[str, str],
    images: Mapping[str, tuple[Path, str]],
    generated: Mapping[str, Mapping[tuple[str, str], Captioned]],
    constructed: Mapping[tuple[str, Way], Mapping[str, Captioned]],
) -> list[Pages]:
    """The pages of each corpus: `corpora` by the paper's label, `images` gives the table and the split of each."""
    return [
        Pages(
            label,
            corpus,
            evaluated_images(images[corpus][0], corpus, images[corpus][1]),
            images[corpus][0],
            {
                role: {image: one for (of, image), one in found.items() if of == corpus}
                for role, found in generated.items()
            },
            {way: found for (of, way), found in constructed.items() if of == corpus},
        )
        for label, corpus in sorted(corpora.items())
    ]


def _scores(alignment: Path, scorers: Mapping[str, PrintedScorer]) -> dict[tuple[Any, ...], dict[str, float]]:
    scores: dict[tuple[Any, ...], dict[str, float]] = {}
    for row in read_table(alignment, ALIGNMENT).to_pylist():
        if row["scorer"] in scorers:
            scorer = scorers[row["scorer"]]
            place = (row["corpus"], row["image_id"], row["caption_index"])
            scores.setdefault(place, {})[scorer.label] = row["score"] * scorer.factor
    return scores
