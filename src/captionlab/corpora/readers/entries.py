"""What readers share: the entries that they give, and fields of annotation files with messages for what is wrong."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from captionlab.corpora.images import Fault
from captionlab.corpora.inputs import CorpusError
from captionlab.places import Place


@dataclass(frozen=True, slots=True)
class AnnotatedObject:
    """An object: its class, its box (left, top, right, bottom in pixels) and its attributes."""

    label: str
    box: tuple[float, float, float, float]
    attributes: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Scene:
    """A scene caption and the annotators' confidence in it, 1 to 5, where that was asked."""

    caption: str
    confidence: float | None = None


@dataclass(frozen=True, slots=True)
class Entry:
    """An image as annotated.

    `place` is None in a corpus of texts only, and `member` is the name of the image where it lies in a container.
    `captions` is None where none is due, in contrast to an image whose
    captions are missing. `size` is the width and height in pixels that the annotations state, (0, 0) if they do not.
    `fault` says why the annotations themselves rule the image out.
    """

    image_id: str
    split: str
    place: Place | None
    captions: Sequence[str] | None
    objects: Sequence[AnnotatedObject] = ()
    scenes: Sequence[Scene] = ()
    image_set: str | None = None
    size: tuple[int, int] = (0, 0)
    fault: Fault | None = None
    member: str | None = None


def records(document: Any, name: str, file: Path, expected: str) -> Iterator[tuple[str, Any]]:
    """The records of a list in a document, each with its place for messages."""
    for index, record in enumerate(take(document, name, list, str(file), expected)):
        yield f"{file}: {name}[{index}]", record


def take(record: Any, name: str, kind: type | tuple[type, ...], where: str, expected: str) -> Any:
    """A field of a record; a CorpusError says what is expected where it is missing or of another type."""
    if not isinstance(record, dict) or name not in record:
        raise CorpusError(f"{where} has no field {name!r}; the reader expects {expected}")
    if not isinstance(record[name], kind):
        raise CorpusError(f"{where}: {name!r} cannot be {str(record[name])[:40]!r}; the reader expects {expected}")
    return record[name]


def take_texts(record: Any, name: str, where: str, expected: str) -> list[str]:
    """A field that is a list of texts."""
    found = take(record, name, list, where, expected)
    if not all(isinstance(text, str) for text in found):
        raise CorpusError(f"{where}: {name!r} must hold texts only; the reader expects {expected}")
    return found


def image_place(config: Mapping[str, Any], root: Path, name: str | Path, split: str | None = None) -> Place | None:
    """Where an image lies: in the folder of the images, that of its split where each has one; None without a folder."""
    folder = config["images"]
    if isinstance(folder, Mapping):
        folder = folder[split]
    return None if folder is None else Place(str(root / folder / name))
