"""Captions and scores as JSON lines, exchanged with a metric that is an external command.

A line of captions has `id`, `corpus`, `image_id`, `caption_index`, `caption`, `references` (a list of texts as the
corpus has them) and `image` (the absolute path of the image file, or null in a text-only corpus). A line of scores has
`id` and `score`. The scores may come in any order.
"""

import json
import os
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from captionlab.images.locations import LOCATION, location_of
from captionlab.images.pixels import is_heif, open_image
from captionlab.storage.row_groups import Groups
from captionlab.storage.schemas import IMAGES
from captionlab.userfiles.reading import GivenError, json_line, text_lines

# References, and files, by image id.
Texts = Mapping[str, Sequence[str]]
Files = Mapping[str, str | None]


class ExchangeError(ValueError):
    """The scores of a command are not exactly one number for each caption. The message names metric, line and id."""


def caption_id(row: Mapping[str, Any]) -> str:
    """Return the id of a caption, `corpus/image_id/caption_index`, from its row."""
    return f"{row['corpus']}/{row['image_id']}/{row['caption_index']}"


def write_captions(
    path: str | os.PathLike[str], rows: Sequence[Mapping[str, Any]], references: Texts, images: Files
) -> None:
    """Append rows of GENERATED to a file, each with its references and its image. All rows are from one corpus."""
    with open(path, "a", encoding="utf-8") as file:
        for row in rows:
            key = {name: row[name] for name in ("corpus", "image_id", "caption_index", "caption")}
            given = {"references": [*references.get(row["image_id"], [])], "image": images[row["image_id"]]}
            file.write(json.dumps({"id": caption_id(row), **key, **given}, ensure_ascii=False) + "\n")


def image_files(path: str | os.PathLike[str], wanted: Collection[str], folder: Path) -> dict[str, str | None]:
    """Return the absolute paths of the wanted images of a table of IMAGES, by image id.

    The path is None if the corpus is text only. Images without a file of their own, and HEIC, which few programs open,
    are first written below `folder` as PNG.
    """
    found: dict[str, str | None] = {}
    parts = Groups([path], IMAGES, ["image_id", *LOCATION]).parts()
    for number, row in enumerate(row for part in parts for row in part.to_pylist()):
        place = location_of(row)
        if row["image_id"] not in wanted:
            continue
        if place.data is None and place.offset is None and not (place.path and is_heif(place)):
            found[row["image_id"]] = place.path and os.path.abspath(place.path)
            continue
        folder.mkdir(parents=True, exist_ok=True)
        file = folder.absolute() / f"{number}.png"  # an image id may contain characters that file names cannot
        open_image(row).save(file)
        found[row["image_id"]] = str(file)
    return {image: found[image] for image in wanted}


def read_scores(path: Path, ids: Sequence[str], who: str) -> list[float]:
    """Read scores from a file of JSON lines, in the order of the caption `ids`. `who` names the metric in messages.

    Raises ExchangeError if the file does not exist, if a line has no finite number, or if an id is unknown, repeated or
    missing. Raises GivenError if a line is not valid JSON, for example because the file is truncated.
    """
    if not path.is_file():
        raise ExchangeError(f"{who} ended well and wrote no scores; it must write them to the file named last")
    known, found = frozenset(ids), dict[str, float]()
    for where, (name, score) in _scores(path, who):
        if name not in known:
            raise ExchangeError(f"{where}: there is no caption {name!r}; repeat the `id` of the caption as it is given")
        if name in found:
            raise ExchangeError(f"{where}: {name!r} has a score already; write one for each caption")
        found[name] = score
    if missing := [name for name in ids if name not in found]:
        raise ExchangeError(
            f"{who}: {len(missing)} of {len(ids)} captions have no score, the first is {missing[0]!r}; "
            "write one for each caption"
        )
    return [found[name] for name in ids]


def _scores(path: Path, who: str) -> Iterator[tuple[str, tuple[Any, float]]]:
    """Yield the position of each line, for messages, with its id and score."""
    for where, line in _lines(path, who):
        try:
            row = json_line(line, where)
        except GivenError:
            raise
        except (ValueError, RecursionError) as error:  # thousands of digits, or of brackets
            raise ExchangeError(
                f'{where}: {line[:80]!r} is too long a number, or nested too deeply; a line must be {{"id": "...", '
                '"score": number}'
            ) from error
        if not (isinstance(row, dict) and isinstance(row.get("id"), str) and "score" in row):
            raise ExchangeError(f'{where}: {line[:80]!r} is no score; a line must be {{"id": "...", "score": number}}')
        score = row["score"]
        # For Python, True is an integer. NaN fails the comparison with the largest float, too.
        if isinstance(score, bool) or not isinstance(score, int | float) or not abs(score) <= sys.float_info.max:
            raise ExchangeError(f"{where}: the score of {row['id']!r} is {score!r:.40}; it must be a finite number")
        yield where, (row["id"], float(score))


def _lines(path: Path, who: str) -> Iterator[tuple[str, str]]:
    """Yield each line with its position, for messages. Messages do not name the file, because it is temporary."""
    number = 0
    try:
        for number, (_, line) in enumerate(text_lines(path), 1):
            yield f"{who}, line {number} of its scores", line
    except ValueError as error:
        raise ExchangeError(f"{who}, line {number + 1} of its scores is no text in UTF-8; write it as that") from error
