"""Tables of a set of judgements, from the entries of a reader, and the corpus against which its captions are scored.

This corpus has only the judged images, in one split, with the references that captions may be compared with. So metrics
against references need no other rules.
"""

import logging
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

from captionlab.config.blocks import JUDGED
from captionlab.corpora.inputs import CorpusError
from captionlab.generation.captions import generated_rows, one_line
from captionlab.judgements.readers.entries import Described, Preferred, Rated
from captionlab.judgements.schemas import CANDIDATES, PREFERENCES, RATINGS
from captionlab.plugins import defined, facts
from captionlab.storage.row_groups import read_chosen
from captionlab.storage.schemas import CAPTIONS, GENERATED, IMAGES, OBJECTS
from captionlab.storage.tables import TableSchema, read_table, write_table
from captionlab.userfiles.ids import known_id

logger = logging.getLogger(__name__)

# Tables of the corpus of the images, which the corpus of the judged captions has, too.
OF_CORPUS: Mapping[str, TableSchema] = {"images": IMAGES, "captions": CAPTIONS, "objects": OBJECTS}
Row = dict[str, Any]


class Judged:
    """The judged captions of images, and their ratings or preferences."""

    def __init__(self) -> None:
        self.captions: dict[str, list[str]] = {}
        self.judgements: dict[tuple[str, int], int] = {}  # number of judgements by image and index
        self.sources: dict[tuple[str, int], str | None] = {}  # of rated captions, by image and index
        self.ratings: list[Row] = []
        self.preferences: list[Row] = []

    def add(self, entry: Rated | Preferred) -> None:
        """Add an entry. Its captions are new captions even if another entry has the same words."""
        of_image = self.captions.setdefault(entry.image_id, [])
        first = len(of_image)
        key = {"image_id": entry.image_id, "caption_index": first}
        of_image += map(one_line, entry.captions)
        times = len(entry.ratings) if isinstance(entry, Rated) else 1
        self.judgements |= {(entry.image_id, index): times for index in range(first, len(of_image))}
        if isinstance(entry, Rated):
            self.sources[entry.image_id, first] = entry.source
            self.ratings += [{**key, "judge": judge, "rating": rating} for judge, rating in entry.ratings.items()]
            return
        votes, other_votes = entry.votes
        counted = {"votes": votes, "other_votes": other_votes, "category": entry.category, "tie": entry.tie}
        self.preferences.append({**key, "other_index": first + 1, **counted})


def read_judgements(
    config: Mapping[str, Any], root: Path, inputs: Mapping[str, Path], outputs: Mapping[str, Path], name: str
) -> dict[str, int]:
    """Read a set of judgements and write its tables, and the tables of its corpus.

    `config` is the block of the set in the config and `name` its name there; `root` is the folder that relative paths
    start from; `inputs` are the tables OF_CORPUS of the corpus of the images; `outputs` are the files to write:
    candidates, ratings, preferences, generated, images, captions and objects. Returns the number of rows per table.
    Raises CorpusError if a file is malformed or no judged image is in the corpus.
    """
    # Rows may hold the bytes of an image, so only the rows of judged images are read with all columns.
    columns = {"images": ["image_id", "position", "split"]}
    tables = {name: read_table(inputs[name], kind, columns.get(name)).to_pylist() for name, kind in OF_CORPUS.items()}
    tables["images"].sort(key=lambda row: row["position"])
    corpus = _described(tables)
    read = defined("judgements.readers", config["reader"], "read")
    leaves_out = facts("judgements.readers")[config["reader"]].leaves_out
    judged = _judged(read(config, root, corpus), corpus, leaves_out == "candidates", name)
    images = [image for image in corpus.splits if image in judged.captions]
    references = _references(judged, corpus, images, config, name)
    keys = [(image, index) for image in images for index in range(len(judged.captions[image]))]
    texts = [judged.captions[image][index] for image, index in keys]
    image_ids, indices = map(list, zip(*keys, strict=True))
    shown = read_chosen(inputs["images"], IMAGES, [*IMAGES.columns], judged.captions).sort_by("position").to_pylist()
    written: dict[str, tuple[TableSchema, Any]] = {
        "candidates": (
            CANDIDATES,
            {
                "image_id": image_ids,
                "caption_index": indices,
                "caption": texts,
                "source": [judged.sources.get(key) for key in keys],
                "judgements": [judged.judgements[key] for key in keys],
            },
        ),
        "ratings": (RATINGS, judged.ratings),
        "preferences": (PREFERENCES, judged.preferences),
        "generated": (GENERATED, generated_rows(name, image_ids, indices, texts)),
        "images": (IMAGES, [{**row, "split": JUDGED} for row in shown]),
        "captions": (CAPTIONS, references),
        "objects": (OBJECTS, [row for row in tables["objects"] if row["image_id"] in judged.captions]),
    }
    for table, (kind, rows) in written.items():
        write_table(outputs[table], kind, rows)
    numbers = {"candidates": len(keys), "ratings": len(judged.ratings), "preferences": len(judged.preferences)}
    return {**numbers, "images": len(images), "references": len(references)}


def _described(tables: Mapping[str, Sequence[Row]]) -> Described:
    splits = {row["image_id"]: row["split"] for row in tables["images"]}
    references: dict[str, list[str]] = {image: [] for image in splits}
    objects: dict[str, list[Row]] = {image: [] for image in splits}
    for row in sorted(tables["captions"], key=lambda row: int(row["caption_index"])):
        references[row["image_id"]].append(one_line(row["caption"]))
    for row in tables["objects"]:
        objects[row["image_id"]].append(row)
    return Described(splits, references, objects)


def _judged(entries: Iterable[Rated | Preferred], corpus: Described, strict: bool, name: str) -> Judged:
    """Return the entries of images of a corpus. If `strict`, candidates that are references are left out.

    Entries that are left out are counted and logged. Raises CorpusError if no entry is left.
    """
    judged, unknown, among = Judged(), Counter[str](), 0
    for entry in entries:
        image = known_id(entry.image_id, corpus.splits)
        if image is None:
            unknown[entry.image_id] += 1
        elif strict and any(one_line(caption) in corpus.references[image] for caption in entry.captions):
            among += 1
        else:
            judged.add(replace(entry, image_id=image))
    first = f"the first is {next(iter(unknown), '')!r}"
    if not judged.captions:
        raise CorpusError(
            f"judgements.{name}: no judged caption is left; {unknown.total()} are of {len(unknown)} images that are "
            f"not in the corpus{f', {first}' if unknown else ''}, and {among} are references of their image. Is it the "
            "right corpus? docs/data.md says which ids images have"
        )
    if unknown:
        logger.warning(
            "%s: %d judged captions or pairs are left out, their %d images are not in the corpus; %s",
            *(name, unknown.total(), len(unknown), first),
        )
    if strict:
        logger.info("%s: %d judged captions are left out, they are among the references of their image", name, among)
    return judged


def _references(
    judged: Judged, corpus: Described, images: Sequence[str], config: Mapping[str, Any], name: str
) -> list[Row]:
    """Return rows of CAPTIONS: references of judged images that are no candidates, all or some drawn by the seed."""
    random, number = Random(config["seed"]), config.get("references_per_image")
    rows, left_out, bare = [], 0, []
    for image in images:
        candidates = {*judged.captions[image]}
        texts = [text for text in corpus.references[image] if text not in candidates]
        left_out += len(corpus.references[image]) - len(texts)
        if number is not None and number < len(texts):
            texts = random.sample(texts, number)
        if not texts:
            bare.append(image)
        rows += [{"image_id": image, "caption_index": index, "caption": text} for index, text in enumerate(texts)]
    logger.info("%s: %d references are left out, they are judged themselves", name, left_out)
    if bare:
        logger.warning("%s: %d images have no reference left, the first is %r", name, len(bare), bare[0])
    return rows
