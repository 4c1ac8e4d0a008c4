"""Language models as files in ARPA format, which SRILM and KenLM also read and write."""

import gzip
import os
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from captionlab.storage.files import replacing
from captionlab.texts.ngram import END, LOG_ZERO, START, NgramModel, find


class ArpaError(ValueError):
    """A file is no valid language model in ARPA format."""


def write_arpa(model: NgramModel, path: str | os.PathLike[str]) -> None:
    """Write a model, compressed if the name ends in .gz; reading the file gives exactly the same numbers."""
    path = Path(path)
    with (
        replacing(path) as partial,
        open(partial, "wb") as raw,
        # Without name and time in the header, so that equal models give equal bytes.
        gzip.GzipFile("", "wb", 6, raw, mtime=0) if path.suffix == ".gz" else raw as file,
    ):
        file.writelines(line.encode() for line in _lines(model))


def read_arpa(path: str | os.PathLike[str]) -> NgramModel:
    """Read a model of any order; .gz is decompressed. Raises ArpaError, which names the file and usually the line."""
    path = Path(path)
    try:
        with gzip.open(path, "rb") if path.suffix == ".gz" else open(path, "rb") as file:
            return _model(path, _sections(path, file))
    except (OSError, EOFError, zlib.error) as error:
        raise ArpaError(f"{path} cannot be read as a language model in ARPA format: {error}") from error


def _lines(model: NgramModel) -> Iterator[str]:
    yield "\n\\data\\\n"
    for n, keys in enumerate(model.keys, 1):
        yield f"ngram {n}={len(keys)}\n"
    texts = model.words
    for n, keys in enumerate(model.keys, 1):
        if n > 1:
            contexts, last = keys // len(model.words), keys % len(model.words)
            texts = [f"{texts[context]} {model.words[word]}" for context, word in zip(contexts, last, strict=True)]
        backoffs, written = [0.0] * len(keys), np.zeros(len(keys), dtype=bool)
        if n < model.order:
            backoffs = model.log_backoffs[n - 1].tolist()
            # SRILM drops n-grams whose context has no weight in the file, so contexts get one even if it is 0.
            written = model.log_backoffs[n - 1] != 0
            written[model.keys[n] // len(model.words)] = True
        yield f"\n\\{n}-grams:\n"
        log_probs = model.log_probs[n - 1].tolist()
        for log_prob, text, backoff, weighted in zip(log_probs, texts, backoffs, written.tolist(), strict=True):
            yield f"{log_prob!r}\t{text}\t{backoff!r}\n" if weighted else f"{log_prob!r}\t{text}\n"
    yield "\n\\end\\\n"


def _sections(path: Path, file: Iterable[bytes]) -> list[list[tuple[int, list[str]]]]:
    """Return for each order its lines, as line number and fields. Raises ArpaError if the file is malformed."""
    announced: list[str] = []
    sections: list[list[tuple[int, list[str]]]] = []
    section = ""
    for number, raw in enumerate(file, 1):
        try:
            line = raw.decode().rstrip("\r\n")
        except UnicodeDecodeError as error:
            raise ArpaError(f"{path}, line {number}: not UTF-8 text ({error}); save the file as UTF-8") from error
        if line.startswith("\\"):
            section = line.strip()
            if section == f"\\{len(sections) + 1}-grams:":
                sections.append([])
            elif section == "\\end\\":
                break
            elif section != "\\data\\":
                raise ArpaError(f"{path}, line {number}: section {section!r} where {len(sections) + 1}-grams should be")
        elif line.strip() and section == "\\data\\":
            announced.append(line.rpartition("=")[2].strip())
        elif line.strip() and section:
            # Not split(): a word may contain white space that does not separate fields in ARPA, such as U+00A0.
            fields = [field for field in line.replace("\t", " ").split(" ") if field]
            if len(fields) - len(sections) not in (1, 2):
                raise ArpaError(
                    f"{path}, line {number}: not a number, {len(sections)} words and perhaps a number: {line!r}"
                )
            sections[-1].append((number, fields))
    found = [str(len(lines)) for lines in sections]
    if section != "\\end\\" or found != announced or not found:
        raise ArpaError(
            f"{path} is no complete language model in ARPA format: it announces {', '.join(announced) or 'no'} n-grams "
            f"and has {', '.join(found) or 'none'}"
            + ("" if section == "\\end\\" else ", and its last line, \\end\\, is missing")
        )
    return sections


def _model(path: Path, sections: list[list[tuple[int, list[str]]]]) -> NgramModel:
    words = sorted(fields[1] for _, fields in sections[0])
    ids = {word: index for index, word in enumerate(words)}
    if absent := {START, END} - ids.keys():
        raise ArpaError(f"{path} has no unigram {absent.pop()!r}, so it is no model of sentences")
    keys: list[NDArray[np.int64]] = []
    log_probs: list[NDArray[np.float64]] = []
    log_backoffs: list[NDArray[np.float64]] = []
    for n, lines in enumerate(sections, 1):
        try:
            of_words = [[ids[word] for word in fields[1 : n + 1]] for _, fields in lines]
            grams = np.array(of_words, np.int64).reshape(-1, n)
            numbers = np.array([[float(fields[0]), float((*fields, "0")[n + 1])] for _, fields in lines]).reshape(-1, 2)
        except (KeyError, ValueError) as error:
            raise ArpaError(f"{path}: a {n}-gram has a word without a unigram, or no number: {error}") from error
        index = grams[:, 0]
        for k in range(1, n):
            if (broken := index < 0).any():
                line, fields = lines[int(broken.argmax())]
                missing = f"the {n}-gram {fields[1:]} has no context of {k} words in the file"
                raise ArpaError(f"{path}, line {line}: {missing}")
            key = index * len(words) + grams[:, k]
            index = find(keys[k], key) if k < n - 1 else key
        order = np.argsort(index)
        keys.append(index[order])
        log_probs.append(np.maximum(numbers[order, 0], LOG_ZERO))
        log_backoffs.append(np.maximum(numbers[order, 1], LOG_ZERO))
    return NgramModel(words, keys, log_probs, log_backoffs[:-1])
