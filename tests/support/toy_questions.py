"""Rendered corpora of the toy world with questions about their images, and tables of questions."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from captionlab.corpora.tables import TABLES
from captionlab.corpora.toyworld.render import ToyImage, render, write_corpus
from captionlab.questions.entries import Described, Entry
from captionlab.questions.readers.toyworld.reader import read
from captionlab.questions.schemas import QUESTIONS
from captionlab.storage.tables import write_table

CORPUS = ("images", "objects", "scene_captions")


def toy_images(domain: str, number: int, seed: int = 3) -> list[ToyImage]:
    """Return rendered images of a domain."""
    return list(render(domain, seed, {"test": number}))


def toy_corpus(folder: Path, images: Sequence[ToyImage]) -> dict[str, Path]:
    """Write the tables of a corpus; return the files that questions are read with."""
    folder.mkdir(parents=True, exist_ok=True)
    files = {table: folder / f"{table}.parquet" for table in TABLES}
    write_corpus(images, files)
    return {table: files[table] for table in CORPUS}


def toy_questions(images: Sequence[ToyImage], seed: int = 1) -> list[Entry]:
    """Return the questions of the toy world about images."""
    objects = {
        image.image_id: [{"label": label, "attributes": attributes} for label, _, attributes in image.objects]
        for image in images
    }
    scenes = {image.image_id: image.scene for image in images}
    return list(read({"seed": seed}, Path(), Described([*objects], objects, scenes)))


def write_questions(path: Path, rows: Mapping[str, Sequence[tuple[str, str, Sequence[str], str]]]) -> Path:
    """Write a table of questions: by image the kind, the text, the options and the answer of each."""
    path.parent.mkdir(parents=True, exist_ok=True)
    names = ("kind", "question", "options", "answer")
    table = [
        {"image_id": image, "question_index": index, **dict(zip(names, asked, strict=True))}
        for image, questions in rows.items()
        for index, asked in enumerate(questions)
    ]
    write_table(path, QUESTIONS, table)
    return path
