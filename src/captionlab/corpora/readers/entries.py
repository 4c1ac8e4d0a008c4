"""The entries that all readers yield, and access to fields of annotation files with helpful error messages."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from captionlab.corpora.images import Fault
from captionlab.corpora.inputs import CorpusError
from captionlab.images.locations import ImageLocation
from captionlab.userfiles.ids import id_text


@dataclass(frozen=True, slots=True)
class AnnotatedObject:
    """An object with its class, box (left, top, right, bottom in pixels) and attributes."""

    label: str
    box: tuple[float, float, float, float]
    attributes: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Scene:
    """A scene caption and the annotators' confidence from 1 to 5, None if no confidence was asked for."""

    caption: str
    confidence: float | None = None


@dataclass(frozen=True, slots=True)
class Entry:
    """An annotated image.

    `place` is None in a corpus of texts only. `member` is the name of the image in its container, if it has one.
    `captions` is None if no captions are expected; an empty list means that captions are missing. `size` is the width
    and height in pixels that the annotations state, or (0, 0). `fault` is the reason why the annotations themselves
    rule the image out.
    """

    image_id: str
    split: str
    place: ImageLocation | None
    captions: Sequence[str] | None
    objects: Sequence[AnnotatedObject] = ()
    scenes: Sequence[Scene] = ()
    image_set: str | None = None
    size: tuple[int, int] = (0, 0)
    fault: Fault | None = None
    member: str | None = None


def records(document: Any, name: str, file: Path, expected: str) -> Iterator[tuple[str, Any]]:
    """Yield each record of a list in a document, with its location for error messages."""
    for index, record in enumerate(take(document, name, list, str(file), expected)):
        yield f"{file}: {name}[{index}]", record


def take(record: Any, name: str, kind: type | tuple[type, ...], where: str, expected: str) -> Any:
    """Return a field of a record.

    Raises CorpusError, which states the expected format, if the field is missing or of another type.
    """
    if not isinstance(record, dict) or name not in record:
        raise CorpusError(f"{where} has no field {name!r}; the reader expects {expected}")
    if not isinstance(record[name], kind):
        raise CorpusError(f"{where}: {name!r} cannot be {str(record[name])[:40]!r}; the reader expects {expected}")
    return record[name]


def take_id(record: Any, name: str, where: str, expected: str) -> str:
    """Return the id in a field of a record, which may be a text or a whole number.

    Raises CorpusError, which states the expected format, if the field is missing, null or empty. Raises GivenError if
    it holds anything else.
    """
    value = id_text(record.get(name) if isinstance(record, dict) else None, f"{where}: {name!r}")
    if value is None:
        raise CorpusError(f"{where} has no id in a field {name!r}; the reader expects {expected}")
    return value


def take_texts(record: Any, name: str, where: str, expected: str) -> list[str]:
    """Return a field that is a list of texts. Raises CorpusError if it is missing or contains anything else."""
    found = take(record, name, list, where, expected)
    if not all(isinstance(text, str) for text in found):
        raise CorpusError(f"{where}: {name!r} must hold texts only; the reader expects {expected}")
    return found


def image_place(
    config: Mapping[str, Any], root: Path, name: str | Path, split: str | None = None
) -> ImageLocation | None:
    """Return the place of an image in the folder of the images, or in the folder of its split if splits have folders.

    Returns None if the config has no folder of images.
    """
    folder = config["images"]
    if isinstance(folder, Mapping):
        folder = folder[split]
    return None if folder is None else ImageLocation(str(root / folder / name))
