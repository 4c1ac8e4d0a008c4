"""Questions in JSON lines: a line has `image_id`, `question`, `answer` and, optionally, `options` and `kind`."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from captionlab.corpora.inputs import CorpusError
from captionlab.corpora.readers.entries import take, take_id, take_texts
from captionlab.questions.entries import OTHER, Described, Entry, Question
from captionlab.userfiles.reading import json_line, text_lines

EXPECTED = '{"image_id", "question", "answer", "options": [...], "kind"}, without options and kind if you like'


def read(config: Mapping[str, Any], root: Path, corpus: Described) -> Iterator[Entry]:
    """Yield the questions in the order of the file. Empty lines are skipped.

    Raises CorpusError, which names file and line, if a field is missing or of another type, or if the options are fewer
    than two, repeat each other or lack the answer. Raises GivenError if a line is no JSON.
    """
    for where, line in text_lines(root / config["annotations"]):
        if not line.strip():
            continue
        record = json_line(line, where)
        image_id = take_id(record, "image_id", where, EXPECTED)
        text, answer = (_text(record, key, where) for key in ("question", "answer"))
        kind = OTHER if record.get("kind") is None else _text(record, "kind", where)
        yield Entry(image_id, Question(kind, text, _options(record, answer, where)), answer)


def _text(record: Any, key: str, where: str) -> str:
    text: str = take(record, key, str, where, EXPECTED).strip()
    if not text:
        raise CorpusError(f"{where}: {key!r} is empty; the reader expects {EXPECTED}")
    return text


def _options(record: Mapping[str, Any], answer: str, where: str) -> tuple[str, ...]:
    if not record.get("options"):
        return ()
    options = tuple(option.strip() for option in take_texts(record, "options", where, EXPECTED))
    if len(options) < 2 or len({*options}) < len(options):
        raise CorpusError(f"{where}: 'options' must hold two different answers or more; leave it out for free answers")
    if answer not in options:
        raise CorpusError(f"{where}: the answer {answer!r} is none of the options {', '.join(options)}; add it to them")
    return options
