"""What the examples of the tables are taken from: captions with their scores, by captioner and image."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow.compute as pc

from captionlab.generation.captions import evaluated_images
from captionlab.language.schemas import CONSTRUCTED
from captionlab.papers.probing.paper import REFERENCE
from captionlab.papers.probing.roles import PrintedScorer
from captionlab.papers.probing.run import Path, Row, read_rows
from captionlab.reporting.thumbnails import thumbnail
from captionlab.schemas import ALIGNMENT, GENERATED, IMAGES
from captionlab.tables import read_table


@dataclass(frozen=True)
class Captioned:
    """A caption of an image, its scores as they are printed, and of a constructed one the words that were put in."""

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
    """What the examples are taken from, on one corpus.

    images: its evaluated images in order; table: its table of images. generated: captions by role and image, of the
    first training of each role. constructed: captions in templates by image and by the way they were constructed.
    """

    label: str
    corpus: str
    images: Sequence[str]
    table: Path
    generated: Mapping[str, Mapping[Image, Captioned]]
    constructed: Mapping[Image, Mapping[Way, Captioned]]

    def picture(self, image: str) -> bytes:
        """A PNG of an image, perhaps nothing."""
        rows = read_table(self.table, IMAGES, ["image_id", "path", "data"])
        return thumbnail(rows.filter(pc.equal(rows["image_id"], image)).to_pylist()[0])

    def caption(self, role: str, image: str) -> Captioned | None:
        """What a role says of an image."""
        return self.generated.get(role, {}).get((self.corpus, image))

    def in_templates(self, image: str) -> dict[str, Captioned]:
        """Captions of an image in the published templates, by model."""
        return {way[1]: one for way, one in self._made(image).items() if (way[0], way[2]) == ("template", "published")}

    def with_nouns(self, image: str, count: float) -> dict[str, Captioned]:
        """Captions of an image with so many nouns, by model."""
        return {way[1]: one for way, one in self._made(image).items() if (way[0], way[3]) == ("count", count)}

    def _made(self, image: str) -> Mapping[Way, Captioned]:
        return self.constructed.get((self.corpus, image), {})


def read_pages(inputs: Row, params: Row) -> list[Pages]:
    """The pages of each corpus, from the files and parameters of a job of the paper."""
    scorers = {name: PrintedScorer(**printed) for name, printed in params["scorers"].items()}
    # Options of Table 1 are made of the last captions; of several trainings the first.
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
            corpus, image, index = (row[name] for name in KEY)
            level = row["level"] if row["experiment"] == "count" else None
            made = captions[corpus, image, index]
            way = row["experiment"], row["subject"], row["source"], level
            constructed[corpus, image][way] = Captioned(made.caption, made.scores, row["words"])
    tables = dict(zip(params["corpora"], inputs["images"], strict=True))
    splits = params["job"]["splits"]
    return [
        Pages(
            label,
            corpus,
            evaluated_images(tables[corpus], corpus, splits[corpus]),
            tables[corpus],
            generated,
            constructed,
        )
        for label, corpus in sorted(params["config"]["corpora"].items())
    ]


def templates_of(constructions: Path) -> dict[tuple[str, str], str]:
    """The text of each template, by model and source."""
    rows = read_table(constructions, CONSTRUCTED, ["subject", "source", "template"]).to_pylist()
    return {(row["subject"], row["source"]): row["template"] for row in rows if row["template"] is not None}


def _read_captions(
    captions: Path, alignment: Path, scorers: Mapping[str, PrintedScorer]
) -> dict[tuple[Any, ...], Captioned]:
    """Captions with their scores, by KEY."""
    scores: dict[tuple[Any, ...], dict[str, float]] = defaultdict(dict)
    for row in read_rows(alignment, ALIGNMENT):
        if scorer := scorers.get(row["scorer"]):
            scores[tuple(row[name] for name in KEY)][scorer.label] = row["score"] * scorer.factor
    places = ((tuple(row[name] for name in KEY), row["caption"]) for row in read_rows(captions, GENERATED))
    return {place: Captioned(caption, scores.get(place, {})) for place, caption in places}
