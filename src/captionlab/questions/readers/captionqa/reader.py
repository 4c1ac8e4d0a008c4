"""CaptionQA (Yang et al. 2025, arXiv 2511.21025), in its published files.

A record is an image: its `id`, such as nat_001, and `questions`, a list of records with `question`, `choices`, `answer`
(the text of a choice) and `category` (a list, from the general to the special). The file is `annotations.jsonl`, with a
record on each line, or a Parquet file of a domain. Sources: the card of the data set Borise/CaptionQA on the Hugging
Face hub, whose `dataset_info` declares these fields, and qa.py of bronyayang/CaptionQA, which reads them.
"""

import logging
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from captionlab.config.papers import listed
from captionlab.corpora.inputs import CorpusError
from captionlab.corpora.readers.entries import take, take_id, take_texts
from captionlab.questions.entries import OTHER, Described, Entry, Question
from captionlab.userfiles.reading import json_line, text_lines

logger = logging.getLogger(__name__)

EXPECTED = '{"id", "questions": [{"question", "choices": [...], "answer", "category"}]}'


def read(config: Mapping[str, Any], root: Path, corpus: Described) -> Iterator[Entry]:
    """Yield the questions. The first category of a question is its kind.

    As in the published code, questions with fewer than two choices, and questions whose answer is none of the choices,
    are left out; they are counted in the log. Raises CorpusError if a record is malformed.
    """
    for name in listed(config["annotations"]):
        file, left_out = root / name, 0
        for where, record in _records(file):
            image_id = take_id(record, "id", where, EXPECTED)
            for index, asked in enumerate(take(record, "questions", list, where, EXPECTED)):
                at = f"{where}: questions[{index}]"
                text, answer = (take(asked, key, str, at, EXPECTED).strip() for key in ("question", "answer"))
                choices = [choice.strip() for choice in take_texts(asked, "choices", at, EXPECTED)]
                if len(choices) > 1 and answer in choices:
                    yield Entry(image_id, Question(_kind(asked.get("category"), at), text, tuple(choices)), answer)
                else:
                    left_out += 1
        if left_out:
            logger.warning("%s: %d questions without the answer among several choices are left out", file, left_out)


def _records(file: Path) -> Iterator[tuple[str, Any]]:
    """Yield the records of a file, each after its position. Images in a Parquet file are not read."""
    if file.suffix != ".parquet":
        yield from ((where, json_line(line, where)) for where, line in text_lines(file) if line.strip())
        return
    try:
        rows = pq.read_table(file, columns=["id", "questions"]).to_pylist()
    except (pa.ArrowException, OSError) as error:
        raise CorpusError(f"{file} is no Parquet file with the columns id and questions: {error}") from error
    yield from ((f"{file}, row {number}", row) for number, row in enumerate(rows, 1))


def _kind(category: Any, where: str) -> str:
    """Return the first category, or a category that is a text."""
    first = category[0] if isinstance(category, list) and category else category
    if first in (None, "", []):
        return OTHER
    if not isinstance(first, str):
        raise CorpusError(f"{where}: 'category' cannot be {str(category)[:40]!r}; the reader expects {EXPECTED}")
    return first.strip()
