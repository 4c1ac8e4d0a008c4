"""Construct captions out of those of a captioner: words replaced, and visual words put into templates."""

import csv
import logging
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from captionlab.generation.captions import evaluated_images, generated_rows, joined
from captionlab.language.construction import Constructed, Plan, Tags, Template, Vocabulary, construct, template_of
from captionlab.language.mining import mine
from captionlab.language.patterns import tagged
from captionlab.language.schemas import CONSTRUCTED, TAGGED
from captionlab.progress import progress
from captionlab.schemas import CAPTIONS, GENERATED
from captionlab.scripting import script
from captionlab.tables import read_table, write_table
from captionlab.texts.tagging import load_tagger, tag


def published(path: str) -> Iterator[tuple[str, Template]]:
    """The paper's templates by model."""
    with open(path, encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            yield row["model"], Template.read(row["template"])


def mined(snakemake: Any) -> Iterator[tuple[str, Template]]:
    """The template of the most frequent pattern of each captioner's captions, those of all corpora together."""
    for model, path in zip(snakemake.params.mined, snakemake.input.mined, strict=True):
        captions = [tagged(row["words"], row["tags"]) for row in read_table(path, TAGGED).to_pylist()]
        for pattern in mine(captions, max_patterns=1):
            template = template_of(pattern, captions)
            logging.info("%s: pattern %s, template %s", model, pattern.pattern, template.text)
            yield model, template


def tagged_references(path: str, images: Sequence[str], model: str) -> dict[str, list[Tags]]:
    """Tagged references of these images."""
    found: dict[str, list[Tags]] = {image: [] for image in images}
    rows = [row for row in read_table(path, CAPTIONS).to_pylist() if row["image_id"] in found]
    tags = progress(tag(load_tagger(model), (row["caption"] for row in rows)), "references", len(rows))
    for row, caption in zip(rows, tags, strict=True):
        found[row["image_id"]].append(caption)
    return found


def report(corpus: str, images: int, constructed: Sequence[Constructed]) -> None:
    """Log how many images were left out of what."""
    made = Counter(
        (one.experiment, one.subject, one.source, one.level if one.experiment != "template" else None)
        for one in constructed
    )
    for what, count in made.items():
        if count < images:
            name = " ".join(str(part) for part in what if part is not None)
            logging.info("%s: %s left out %d of %d images", corpus, name, images - count, images)


@script
def main(snakemake: Any) -> None:
    config = snakemake.params.config
    replacements = config.get("replacements", {})
    templates = {}
    for source in config.get("templates", ()):
        found = published(snakemake.input.templates) if source == "published" else mined(snakemake)
        templates |= {(model, source): template for model, template in found}
    given = {
        (row["corpus"], row["image_id"]): row["caption"]
        for row in read_table(snakemake.input.captions, GENERATED).to_pylist()
        if row["caption_index"] == 0
    }
    tags = {
        (row["corpus"], row["image_id"]): (row["words"], row["lemmas"], row["tags"])
        for row in read_table(snakemake.input.tags, TAGGED).to_pylist()
        if row["caption_index"] == 0
    }
    captions, origins = [], []
    for number, (corpus, split) in enumerate(zip(snakemake.params.corpora, snakemake.params.splits, strict=True)):
        images = evaluated_images(snakemake.input.images[number], corpus, split)
        references = tagged_references(snakemake.input.references[number], images, snakemake.params.tagger)
        vocabulary = Vocabulary(
            (caption for of_image in references.values() for caption in of_image),
            replacements.get("draw", "frequency"),
        )
        plan = Plan(
            **{key: replacements[key] for key in ("shares", "others") if key in replacements},
            templates=templates,
            counts=config.get("nouns", ()),
            seed=snakemake.params.seed,
        )
        rows = [
            (image, index, one)
            for image in images
            for index, one in enumerate(
                construct(image, given[corpus, image], tags[corpus, image], references[image], plan, vocabulary)
            )
        ]
        ids, indices, constructed = ([row[place] for row in rows] for place in range(3))
        captions.append(generated_rows(corpus, ids, indices, [one.caption for one in constructed]))
        origins += [{"corpus": corpus, "image_id": image, "caption_index": n, **vars(one)} for image, n, one in rows]
        report(corpus, len(images), constructed)
    write_table(snakemake.output.captions, GENERATED, joined(captions))
    write_table(snakemake.output.constructions, CONSTRUCTED, origins)
