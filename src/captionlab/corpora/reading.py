"""Conversion of the entries of a reader into the five tables of a corpus, in one pass and in constant memory."""

import logging
import math
import re
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import takewhile
from pathlib import Path
from typing import Any, NamedTuple

from captionlab.corpora.images import Fault, check_images
from captionlab.corpora.inputs import CorpusError, check_inputs, input_files, named_paths
from captionlab.corpora.readers.entries import Entry
from captionlab.corpora.tables import Rows, corpus_tables
from captionlab.images.locations import ImageLocation
from captionlab.jobs.progress import progress
from captionlab.plugins import defined, facts
from captionlab.storage.tables import ROW_GROUP
from captionlab.userfiles.lists import listed_texts

logger = logging.getLogger(__name__)

# Default of the share of the images that may be rejected.
MAX_REJECTED = 0.01
# Number of rejects quoted in the error if there are too many.
QUOTED = 5
# If the folder of the images is empty, reading stops after this number of missing images: there may be millions.
HOPELESS = 10_000
# Words in the details of a duplicate whose first entry is of another split.
OTHER_SPLIT = "which is of the split"

_BREAK = "\t\n\v\f\r\x85\u2028\u2029"
_BREAKS = re.compile(f" *[{_BREAK}][ {_BREAK}]*")


def read_corpus(
    config: Mapping[str, Any], root: Path, outputs: Mapping[str, Path], threads: int, name: str
) -> dict[str, int]:
    """Read a corpus, check its images, write its five tables and return the number of rows per table.

    `config` is the block of the corpus in the config, `name` is its name, and `root` is the folder that relative paths
    start from. `outputs` has the file of each table: images, captions, objects, scene captions and rejects. `threads`
    is the number of threads that check images.

    An image becomes a row of rejects if it is missing, empty, broken, of zero size, of pixel values that cannot be
    interpreted, listed before, or without an expected caption. An image that loses empty captions and keeps others also
    gets a row of rejects. It stays in the corpus and is not counted as rejected. A caption that is a list written as
    text counts as several captions.

    Raises CorpusError if a file is missing or malformed, if a larger share than `max_rejected` of the images is
    rejected, or if no image is left. No table is written in these cases. With `limit` in `config`, the tables have the
    first images of each split that can be used, and `max_rejected` does not count.
    """
    limit = config.get("max_rejected", MAX_REJECTED)
    if not 0 <= limit <= 1:
        raise CorpusError(f"corpora.{name}.max_rejected: {limit} is no share of the images between 0 and 1")
    check_inputs(config, root, name)
    tally = _Tally()
    with corpus_tables(outputs, ROW_GROUP) as tables:
        room = Room(config.get("limit"))
        entries = progress(_entries(config, root, room), what=f"images of {name}")
        for candidate, check in check_images(_candidates(entries, room, config.get("split_in_id", False)), threads):
            if room.is_full(candidate.entry.split):  # it was opened before the last one was accepted
                continue
            tally.entries += 1
            if candidate.entry.fault:
                _reject(candidate, candidate.entry.fault, tables["rejects"], tally)
            elif isinstance(check, Fault):
                _reject(candidate, check, tables["rejects"], tally)
            else:
                _accept(candidate, check, tables, tally)
                room.take(candidate.entry.split)
            if tally.entries == tally.reasons["missing"] == HOPELESS and _without_images(config, root):
                break
        # The few images of a first look say little about the share of all images.
        _judge(tally, limit if room.limit is None else 1.0, name, _shown(input_files(config, root)))
    return {table: rows.writer.rows for table, rows in tables.items()}


def clean(text: str) -> str:
    """Return a caption on one line: line breaks and tabs become one space, and the ends are stripped.

    Half a surrogate pair, which JSON can hold and UTF-8 cannot, becomes the replacement character.
    """
    text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return _BREAKS.sub(" ", text).strip()


class _Candidate(NamedTuple):
    """An entry with its rank, clean texts and a fault known before its image is opened; `empty` names empty texts."""

    position: int
    entry: Entry
    empty: Sequence[str]


@dataclass(slots=True)
class _Tally:
    """Counts of entries, of faults by reason, and of problems to report; `first` describes the first rejects."""

    entries: int = 0
    reasons: Counter[str] = field(default_factory=Counter)
    first: list[str] = field(default_factory=list)
    losing_captions: int = 0
    other_sizes: int = 0
    of_other_splits: int = 0


class Room:
    """The room in the splits of a corpus: the first `limit` images of each split that can be used, or all images."""

    def __init__(self, limit: int | None):
        self.limit, self.taken = limit, Counter[str]()

    def is_full(self, split: str) -> bool:
        """Return whether a split has all its images."""
        return self.limit is not None and self.taken[split] >= self.limit

    def take(self, split: str) -> None:
        """Count an image of a split."""
        self.taken[split] += 1


def _entries(config: Mapping[str, Any], root: Path, room: Room) -> Iterator[Entry]:
    """Yield the entries of a reader. Of a reader with patterns, files of a full split are not read on."""
    read = defined("corpora.readers", config["reader"], "read")
    keys = facts("corpora.readers")[config["reader"]].patterns if room.limit is not None else ()
    if not keys:
        yield from read(config, root)
    for key in keys:
        for split, pattern in config[key].items():
            entries = read({**config, key: {split: pattern}}, root)
            yield from takewhile(lambda entry: not room.is_full(entry.split), entries)


def _candidates(
    entries: Iterable[Entry], room: Room, split_in_id: bool
) -> Iterator[tuple[_Candidate, ImageLocation | None]]:
    """Yield each entry with the place of the image to open, or None if there is no image or the entry has a fault.

    Entries of splits that are full are left out. With `split_in_id`, the split and / are put before each image id that
    does not begin with them.
    """
    # A temporary file, because the keys of millions of images would fill the memory.
    seen = sqlite3.connect("", isolation_level=None)
    seen.execute("PRAGMA journal_mode = OFF")
    seen.execute("CREATE TABLE seen (key TEXT PRIMARY KEY, position INTEGER, split TEXT) WITHOUT ROWID")
    seen.execute("BEGIN")
    for position, entry in enumerate(entries):
        if room.is_full(entry.split):
            continue
        if split_in_id and not entry.image_id.startswith(f"{entry.split}/"):
            entry = replace(entry, image_id=f"{entry.split}/{entry.image_id}")
        texts = [clean(text) for caption in entry.captions or () for text in listed_texts(caption)]
        scenes = [replace(scene, caption=clean(scene.caption)) for scene in entry.scenes]
        captions = [text for text in texts if text]
        empty = [f"caption {i} of {len(texts)}" for i, text in enumerate(texts) if not text]
        empty += [f"scene caption {i} of {len(scenes)}" for i, scene in enumerate(scenes) if not scene.caption]
        nameless = None if entry.image_id else Fault("missing", "its entry names no file")
        fault = entry.fault or nameless or _repeated(seen, "image id", entry.image_id, position, entry.split)
        alone = entry.place is not None and entry.place.offset is None
        fault = fault or _repeated(seen, "file", _file_of(entry) if alone else None, position, entry.split)
        if fault is None and entry.captions is not None and not captions:
            fault = Fault("no-caption", f"all of its {len(texts)} captions are empty" if texts else "it has no caption")
        scenes = [scene for scene in scenes if scene.caption]
        cleaned = replace(entry, captions=captions, scenes=scenes, fault=fault)
        yield _Candidate(position, cleaned, empty), None if fault else entry.place


def _repeated(seen: sqlite3.Connection, what: str, value: str | None, position: int, split: str) -> Fault | None:
    """Return a fault if the value occurred in an earlier entry. Otherwise store the value and return None."""
    key, insert = f"{what} {value}", "INSERT OR IGNORE INTO seen VALUES (?, ?, ?)"
    if value is None or seen.execute(insert, (key, position, split)).rowcount:
        return None
    first, of_split = seen.execute("SELECT position, split FROM seen WHERE key = ?", (key,)).fetchone()
    other = "" if of_split == split or what != "image id" else f", {OTHER_SPLIT} {of_split!r}"
    return Fault("duplicate", f"its {what} is also the {what} of entry {first}{other}")


def _reject(candidate: _Candidate, fault: Fault, rejects: Rows, tally: _Tally) -> None:
    """Append the row of a rejected entry and count it."""
    position, entry, _ = candidate
    _append_reject(rejects, candidate, fault.reason, fault.detail)
    tally.reasons[fault.reason] += 1
    tally.of_other_splits += OTHER_SPLIT in fault.detail
    if len(tally.first) < QUOTED:
        named = " ".join(filter(None, (_file_of(entry), entry.member))) or entry.image_id
        tally.first.append(f"entry {position}, {named}: {fault.reason}, {fault.detail}")


def _append_reject(rejects: Rows, candidate: _Candidate, reason: str, detail: str) -> None:
    """Append a row of rejects. If the image has a name in its container, the detail begins with this name."""
    position, entry, _ = candidate
    named = f"{entry.member}: {detail}" if entry.member else detail
    rejects.append(position, entry.image_id, _file_of(entry), reason, named)


def _file_of(entry: Entry) -> str | None:
    """Return the file that contains the image, alone or with other images."""
    return entry.place.path if entry.place else None


def _accept(candidate: _Candidate, size: tuple[int, int] | None, tables: Mapping[str, Rows], tally: _Tally) -> None:
    """Append the rows of an entry. `size` is the decoded size of its image, None if there is no image."""
    position, entry, empty = candidate
    width, height = size or entry.size
    place = entry.place or ImageLocation()
    tables["images"].append(entry.image_id, position, entry.split, *place, width, height, entry.image_set)
    for index, caption in enumerate(entry.captions or ()):
        tables["captions"].append(entry.image_id, index, caption)
    for index, thing in enumerate(entry.objects):
        tables["objects"].append(entry.image_id, index, thing.label, *thing.box, thing.attributes)
    for index, scene in enumerate(entry.scenes):
        tables["scene_captions"].append(entry.image_id, index, scene.caption, None, scene.confidence)
    if empty:
        detail = f"left out for being empty: {', '.join(empty)}"
        _append_reject(tables["rejects"], candidate, "no-caption", detail)
        tally.losing_captions += 1
    if entry.objects and entry.size not in ((0, 0), (width, height)):
        tally.other_sizes += 1


def _without_images(config: Mapping[str, Any], root: Path) -> bool:
    """Return whether all folders of images are empty, so that no image will be found."""
    folders = named_paths(config, "images").values()
    return bool(folders) and not any(any((root / folder).iterdir()) for folder in folders)


def _shown(files: Sequence[Path]) -> str:
    """Return the names of files for a message, at most QUOTED."""
    return ", ".join(map(str, files[:QUOTED])) + (f" and {len(files) - QUOTED} more" if len(files) > QUOTED else "")


def _judge(tally: _Tally, limit: float, name: str, files: str) -> None:
    """Log the rejects, and raise a CorpusError if there are no entries, too many rejects, or no image left."""
    if tally.entries == 0:
        raise CorpusError(
            f"corpora.{name}: there is no image in {files}, none of the domain that is asked for, or none with a "
            "caption that is not marked as unusable"
        )
    rejected = tally.reasons.total()
    reasons = ", ".join(f"{number} {reason}" for reason, number in tally.reasons.most_common())
    logger.info("%s: rejected %d of %d images%s", name, rejected, tally.entries, reasons and f" ({reasons})")
    if tally.losing_captions:
        logger.warning("%s: %d images lost empty captions, see the rejects", name, tally.losing_captions)
    if tally.other_sizes:
        message = "%s: %d images are not of the size, upright, that their annotations state, so their boxes may not fit"
        logger.warning(message, name, tally.other_sizes)
    share = rejected / tally.entries
    if share <= limit and rejected < tally.entries:
        return
    first = "the first " if tally.entries == tally.reasons["missing"] == HOPELESS else ""
    advice = ["repair these files", "take them out of the annotations"]
    if tally.reasons["missing"] > rejected / 2:
        advice.insert(0, f"check that corpora.{name}.images is the right folder")
    if tally.of_other_splits > rejected / 2:
        advice = [f"set corpora.{name}.split_in_id: true if the splits number different images alike", *advice[1:]]
    elif rejected < tally.entries:
        # Rounded up, so that the value is large enough when it is copied into the config.
        advice.append(f"set corpora.{name}.max_rejected: {math.ceil(share * 1000) / 1000:g} to do without them")
    raise CorpusError(
        f"corpora.{name}: {rejected} of {first}{tally.entries} images in {files} are rejected ({reasons}), a share of "
        f"{share:.2g} where max_rejected allows {limit:g}. The first: {'; '.join(tally.first)}. "
        f"To go on, {', or '.join(advice)}."
    )
