"""Construct captions from the captions of a captioner: replace words, and put visual words into templates."""

import csv
import logging
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any

from captionlab.generation.captions import evaluated_images, generated_rows, joined
from captionlab.jobs.progress import progress
from captionlab.jobs.scripting import script
from captionlab.language.construction import Plan, Tags, Template, Vocabulary, construct, template_of
from captionlab.language.mining import mine
from captionlab.language.patterns import tagged
from captionlab.language.schemas import CONSTRUCTED
from captionlab.storage.schemas import CAPTIONS, GENERATED, TAGGED
from captionlab.storage.tables import TableSchema, read_table, write_table
from captionlab.texts.tagging import load_tagger, tag


def published(path: str) -> Iterator[tuple[str, Template]]:
    """Yield the paper's templates by model."""
    with open(path, encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            yield row["model"], Template.read(row["template"])


def mined(models: Sequence[str], tables: Sequence[str]) -> Iterator[tuple[str, Template]]:
    """Yield for each captioner the template of the most frequent pattern in its tagged captions, over all corpora."""
    for model, path in zip(models, tables, strict=True):
        captions = [tagged(row["words"], row["tags"]) for row in read_table(path, TAGGED).to_pylist()]
        for pattern in mine(captions, max_patterns=1):
            template = template_of(pattern, captions)
            logging.info("%s: pattern %s, template %s", model, pattern.pattern, template.text)
            yield model, template


def tagged_references(path: str, images: Sequence[str], model: str) -> dict[str, list[Tags]]:
    """Return the tagged references of images, by image."""
    found: dict[str, list[Tags]] = {image: [] for image in images}
    rows = [row for row in read_table(path, CAPTIONS).to_pylist() if row["image_id"] in found]
    tags = progress(tag(load_tagger(model), (row["caption"] for row in rows)), "references", len(rows))
    for row, caption in zip(rows, tags, strict=True):
        found[row["image_id"]].append(caption)
    return found


def first_of_image(path: str, kind: TableSchema) -> dict[tuple[str, str], dict[str, Any]]:
    """Return the row of the first caption of each image, by corpus and image."""
    rows = read_table(path, kind).to_pylist()
    return {(row["corpus"], row["image_id"]): row for row in rows if row["caption_index"] == 0}


def report(corpus: str, images: int, constructed: Sequence[dict[str, Any]]) -> None:
    """Log how many images each kind of construction left out."""
    made = Counter()
    for row in constructed:
        level = row["level"] if row["experiment"] != "template" else None
        what = (row["experiment"], row["subject"], row["source"], level)
        made[" ".join(str(part) for part in what if part is not None)] += 1
    for what, count in made.items():
        if count < images:
            logging.info("%s: %s left out %d of %d images", corpus, what, images - count, images)


@script
def main(snakemake):
    inputs, params, config = snakemake.input, snakemake.params, snakemake.params.config
    replacements = config.get("replacements", {})
    templates = {}
    for source in config.get("templates", ()):
        found = published(inputs.templates) if source == "published" else mined(params.mined, inputs.mined)
        templates |= {(model, source): template for model, template in found}
    replaced = {key: replacements[key] for key in ("shares", "others") if key in replacements}
    plan = Plan(**replaced, templates=templates, counts=config.get("nouns", ()), seed=params.seed)
    given, tags = first_of_image(inputs.captions, GENERATED), first_of_image(inputs.tags, TAGGED)
    captions, origins = [], []
    evaluated = zip(params.corpora, params.splits, inputs.images, inputs.references, strict=True)
    for corpus, split, table, reference_table in evaluated:
        images = evaluated_images(table, corpus, split)
        references = tagged_references(reference_table, images, params.tagger)
        vocabulary = Vocabulary(chain.from_iterable(references.values()), replacements.get("draw", "frequency"))
        rows = []
        for image in images:
            caption, own = given[corpus, image]["caption"], tags[corpus, image]
            words = own["words"], own["lemmas"], own["tags"]
            made = construct(image, caption, words, references[image], plan, vocabulary)
            key = {"corpus": corpus, "image_id": image}
            rows += [{**key, "caption_index": index, **vars(one)} for index, one in enumerate(made)]
        columns = ([row[name] for row in rows] for name in ("image_id", "caption_index", "caption"))
        captions.append(generated_rows(corpus, *columns))
        origins += rows
        report(corpus, len(images), rows)
    write_table(snakemake.output.captions, GENERATED, joined(captions))
    write_table(snakemake.output.constructions, CONSTRUCTED, origins)
