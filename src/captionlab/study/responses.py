"""Answers of participants, from CSV files of the web page and of PsychoPy, and answers simulated with a retriever."""

import codecs
import csv
import io
import logging
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from captionlab.study.stimuli import IMAGES_OF_SCREEN, StudyError
from captionlab.userfiles.delimited import delimited
from captionlab.userfiles.unescaped import is_unescaped, unescaped

logger = logging.getLogger(__name__)
MISTAKES_ALLOWED = 1  # participants who miss more controls than this are left out of the analysis (appendix A)
SIMULATED = "simulated"
WEB = ("study", "participant", "block", "question", "chosen")
PSYCHOPY = ("study", "participant", "study_block", "question", "mouse.clicked_name")
FORMS = {"web": WEB, "psychopy": PSYCHOPY}
MARKS = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
_CLICKED = re.compile(r"\bimage_(\d+)\b")


def read_answers(
    paths: Sequence[str | os.PathLike[str]], study: str, screens: Iterable[Mapping[str, Any]], simulated: bool = False
) -> list[dict[str, Any]]:
    """Return the rows of the ANSWERS table from files of answers to a study, whose `screens` are rows of STIMULI.

    Rows without a participant code, such as trial runs, are left out, and their number is logged. Answers to the
    example are left out. Raises StudyError, which names file and line, for an answer that belongs to another study or
    to no screen, that repeats another answer, or that is malformed. If `simulated` is false, an answer of a simulated
    participant raises StudyError. If it is true, an answer of any other participant does. The code of a participant
    tells whether it is simulated. Files without any answer raise StudyError.
    """
    shown = {(row["block"], row["question"]): row for row in screens}
    answers: dict[tuple[str, int, int], dict[str, Any]] = {}
    for path in paths:
        rows = list(_rows(path))
        named = [(where, source, row) for where, source, row in rows if row["participant"]]
        if len(named) < len(rows):
            logger.warning("%s: %d rows have no participant code and are left out", path, len(rows) - len(named))
        for where, source, row in named:
            if row["study"] != study:
                raise StudyError(
                    f"{where}: the answer belongs to {row['study']!r}, these are the screens of {study!r}; "
                    "name files of this study only"
                )
            block, question = (_whole(row[name], where, name) for name in ("block", "question"))
            if (block, question) not in shown:
                raise StudyError(f"{where}: block {block} of the study has no screen {question}")
            screen = shown[block, question]
            if screen["role"] == "example":
                continue
            participant = row["participant"]
            if participant.startswith(SIMULATED) != simulated:
                what = "is no simulated participant" if simulated else "is simulated and must not be read as a person"
                raise StudyError(f"{where}: the participant {participant!r} {what}")
            if (participant, block, question) in answers:
                raise StudyError(
                    f"{where}: the participant {participant!r} answered screen {question} of block {block} before; "
                    "keep one of the files, or give people codes of their own"
                )
            place = _whole(row["chosen"], where, "chosen")
            if not 1 <= place <= IMAGES_OF_SCREEN:
                raise StudyError(f"{where}: chosen is {place}; a screen has the images 1 to {IMAGES_OF_SCREEN}")
            answers[participant, block, question] = {
                "participant": participant,
                **{name: screen[name] for name in ("block", "question", "role", "stimulus", "caption_type")},
                "chosen": screen["images"][place - 1],
                "correct": place == screen["position"],
                "source": SIMULATED if simulated else source,
            }
    if not answers:
        raise StudyError(f"{', '.join(map(str, paths))}: no answer of a participant who has a code")
    of_blocks = participants([{**answer, "excluded": False} for answer in answers.values()])
    excluded = {row["participant"] for row in of_blocks if row["controls_missed"] > MISTAKES_ALLOWED}
    return [{**answer, "excluded": answer["participant"] in excluded} for _, answer in sorted(answers.items())]


def simulate(
    screens: Sequence[Mapping[str, Any]],
    similarities: np.ndarray,
    scale: float,
    participants: int,
    study: str,
    seed: int,
) -> str:
    """Return answers of simulated participants, in the form of the web page's CSV.

    `similarities` (screens, 10) are the retriever's cosines of caption and images, in the order of the screen. Each
    image is drawn with the probability that the retriever gives it: the softmax of `scale` times the cosines. Blocks
    are assigned in turn. Every code begins with "simulated", so that `read_answers` can tell such answers from answers
    of people.
    """
    logits = scale * np.asarray(similarities, dtype=np.float64)
    chances = np.exp(logits - logits.max(axis=1, keepdims=True))
    chances /= chances.sum(axis=1, keepdims=True)
    blocks = sorted({row["block"] for row in screens} - {0})
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(WEB)
    for number in range(participants):
        generator = np.random.default_rng([seed, number])
        block = blocks[number % len(blocks)]
        for question, index in sorted((row["question"], n) for n, row in enumerate(screens) if row["block"] == block):
            place = int(generator.choice(chances.shape[1], p=chances[index])) + 1
            writer.writerow([study, f"{SIMULATED}-{number + 1:03d}", block, question, place])
    return stream.getvalue()


def participants(answers: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the rows of the PARTICIPANTS table: a row for each participant and block."""
    found: dict[tuple[str, int], dict[str, Any]] = {}
    for answer in answers:
        who = {name: answer[name] for name in ("participant", "block", "excluded")}
        nothing = {"answers": 0, "controls": 0, "controls_missed": 0}
        row = found.setdefault((answer["participant"], answer["block"]), {**who, **nothing})
        control = answer["role"] == "control"
        row["answers"] += 1
        row["controls"] += control
        row["controls_missed"] += control and not answer["correct"]
    return list(found.values())


def _rows(path: str | os.PathLike[str]) -> Iterator[tuple[str, str, dict[str, str]]]:
    """Yield each answer of a file: its place in the file, its source (web or psychopy), and its values.

    The values are study, participant, block, question and chosen. Raises StudyError for a file without the columns of
    either source.
    """
    text = _text(path)
    header, rows = delimited(Path(path), [text], {*WEB, *PSYCHOPY})
    missing = {source: [name for name in columns if name not in header] for source, columns in FORMS.items()}
    source = min(missing, key=lambda source: len(missing[source]))
    if missing[source]:
        raise StudyError(
            f"{path} is no file of answers, it has no column {', '.join(missing[source])}; files of the web page have "
            f"{', '.join(WEB)}, files of PsychoPy {', '.join(PSYCHOPY)}, with commas, semicolons or tabs between them"
        )
    if source == "psychopy" and is_unescaped(text):
        rows = unescaped(Path(path), text)
    for where, row in rows:
        values = [(row[name] or "").strip() for name in FORMS[source]]
        if source == "psychopy":
            places = _CLICKED.findall(values[-1])
            if not values[0] or not places:
                continue  # a screen of text, which has no conditions, or the screen where the participant stopped
            values[-1] = places[-1]
        yield where, source, dict(zip(WEB, values, strict=True))


def _text(path: str | os.PathLike[str]) -> str:
    """Return the text of a file in UTF-8, UTF-16 with a byte order mark, or cp1252.

    Browsers, PsychoPy and spreadsheets write these encodings. Raises StudyError for other files.
    """
    content = Path(path).read_bytes()
    marked = [encoding for mark, encoding in MARKS.items() if content.startswith(mark)]
    for encoding in marked or ("utf-8", "cp1252"):
        with suppress(UnicodeDecodeError):
            if "\0" not in (text := content.decode(encoding)):
                return text
    raise StudyError(f"{path} is no text in UTF-8, UTF-16 or cp1252; save the answers as CSV in UTF-8")


def _whole(text: str, where: str, name: str) -> int:
    # Pandas and spreadsheets write whole numbers as 3.0.
    if not (found := re.fullmatch(r"\s*(\d+)(?:\.0*)?\s*", text)):
        raise StudyError(f"{where}: {name} is {text!r}; it must be a whole number")
    return int(found[1])
