"""The table of questions about the images of a corpus, from the entries of a reader."""

import logging
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from captionlab.corpora.inputs import CorpusError
from captionlab.plugins import defined
from captionlab.questions.entries import Described, Entry
from captionlab.questions.schemas import QUESTIONS
from captionlab.storage.schemas import IMAGES, OBJECTS, SCENE_CAPTIONS
from captionlab.storage.tables import read_table, write_table
from captionlab.userfiles.ids import known_id

logger = logging.getLogger(__name__)


def read_questions(
    config: Mapping[str, Any], root: Path, inputs: Mapping[str, Path], output: Path, name: str
) -> tuple[int, int]:
    """Read a set of questions, and write the table of the questions about the images of a corpus.

    `config` is the block of the set in the config and `name` its name there; `root` is the folder that relative paths
    start from; `inputs` are the tables images, objects and scene_captions of the corpus. Questions about other images
    are left out and logged. Returns the number of questions and of images. Raises CorpusError if no question is left.
    """
    corpus = described(inputs)
    known, unknown = {*corpus.images}, Counter[str]()
    of_images: dict[str, list[Entry]] = {}
    for entry in defined("questions.readers", config["reader"], "read")(config, root, corpus):
        image = known_id(entry.image_id, known)
        if image is None:
            unknown[entry.image_id] += 1
        else:
            of_images.setdefault(image, []).append(entry)
    if not of_images:
        first = f", the first is {next(iter(unknown))!r}" if unknown else ""
        raise CorpusError(
            f"questions.{name}: no question is about an image of the corpus; {unknown.total()} are about "
            f"{len(unknown)} other images{first}. Is it the right corpus? docs/data.md says which ids images have"
        )
    if unknown:
        logger.warning(
            "%s: %d questions are left out, their %d images are not in the corpus; the first is %r",
            *(name, unknown.total(), len(unknown), next(iter(unknown))),
        )
    rows = [_row(image, index, entry) for image in sorted(of_images) for index, entry in enumerate(of_images[image])]
    write_table(output, QUESTIONS, rows)
    return len(rows), len(of_images)


def described(inputs: Mapping[str, Path]) -> Described:
    """Return the images, objects and scenes in the tables of a corpus."""
    images = read_table(inputs["images"], IMAGES, ["image_id", "position"]).sort_by("position")["image_id"].to_pylist()
    objects: dict[str, list[dict[str, Any]]] = {image: [] for image in images}
    for row in read_table(inputs["objects"], OBJECTS, ["image_id", "label", "attributes"]).to_pylist():
        objects[row["image_id"]].append(row)
    scenes = read_table(inputs["scene_captions"], SCENE_CAPTIONS, ["image_id", "scene"]).to_pylist()
    return Described(images, objects, {row["image_id"]: row["scene"] for row in scenes if row["scene"]})


def _row(image: str, index: int, entry: Entry) -> dict[str, Any]:
    question = entry.question
    return {
        "image_id": image,
        "question_index": index,
        "kind": question.kind,
        "question": question.text,
        "options": list(question.options),
        "answer": entry.answer,
    }
