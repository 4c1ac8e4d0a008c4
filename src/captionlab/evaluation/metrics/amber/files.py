"""The files of AMBER: annotated images, words with their associated words, and words that are always allowed."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from captionlab.userfiles.ids import id_text
from captionlab.userfiles.reading import GivenError, read_json, text_lines

_GENERATIVE = "generative"
_ENTRY = '{"id": 1, "type": "generative", "truth": [word, ...], "hallu": [word, ...]}'
_PATH = str | os.PathLike[str]
# Words that count as objects, each with the words that may stand for it.
Relation = Mapping[str, list[str]]


@dataclass(frozen=True)
class Annotation:
    """The objects that are in an image, and objects that are not and that people would expect there."""

    present: list[str]
    expected: list[str]


def read_relation(path: _PATH) -> dict[str, list[str]]:
    """Return the associated words of each word, in lower case.

    Raises GivenError, which names the word, if the file is not an object of lists of words.
    """
    document = read_json(path)
    if not isinstance(document, dict) or not document:
        raise GivenError(f"{path} must be a JSON object of lists of words, as AMBER's relation.json")
    return {word.lower(): _words(words, f"{path}, {word!r}") for word, words in document.items()}


def read_annotations(path: _PATH, relation: Relation) -> dict[str, Annotation]:
    """Return the annotation of each image by its id. Entries of questions (of another type) are left out.

    Raises GivenError, which names the entry, if an entry is incomplete or repeated, or has a word that `relation`
    lacks.
    """
    document, annotations = read_json(path), {}
    if not isinstance(document, list):
        raise GivenError(f"{path} must be a JSON list of entries like {_ENTRY}, as AMBER's annotations.json")
    for number, entry in enumerate(document, 1):
        where = f"{path}, entry {number}"
        if not isinstance(entry, dict) or "type" not in entry:
            raise GivenError(f"{where} is not an object with a `type`; it must be like {_ENTRY}")
        if entry["type"] != _GENERATIVE:
            continue
        if missing := [key for key in ("id", "truth", "hallu") if key not in entry]:
            raise GivenError(f"{where} has no `{missing[0]}`; it must be like {_ENTRY}")
        if (name := id_text(entry["id"], f"{where}: `id`")) is None or name in annotations:
            raise GivenError(
                f"{where}: the id {entry['id']!r} is {'empty' if name is None else 'there twice'}; correct it"
            )
        words = {key: _words(entry[key], f"{where} (id {name}), `{key}`") for key in ("truth", "hallu")}
        if unknown := [word for word in words["truth"] + words["hallu"] if word not in relation]:
            raise GivenError(
                f"{where} (id {name}) has the word {unknown[0]!r}, which the relations lack; add it to the file of "
                "`amber.relation` with its associated words, or []"
            )
        annotations[name] = Annotation(words["truth"], words["hallu"])
    if not annotations:
        raise GivenError(f"{path} has no entry of the type {_GENERATIVE!r}; take AMBER's annotations.json")
    return annotations


def read_safe_words(path: _PATH | None) -> frozenset[str]:
    """Return the words that are never hallucinated, in lower case; none without a file."""
    lines = [] if path is None else [line.strip().lower() for _, line in text_lines(path)]
    return frozenset(filter(None, lines))


def _words(words: Any, where: str) -> list[str]:
    """Return a list of words in lower case. Raises GivenError, which begins with `where`, if it is none."""
    if not isinstance(words, list) or not all(isinstance(word, str) and word for word in words):
        raise GivenError(f"{where} must be a list of words, not {str(words)[:60]}")
    return [word.lower() for word in words]
