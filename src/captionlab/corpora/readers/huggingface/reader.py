"""Parquet files in the formats of datasets on the Hugging Face hub."""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from captionlab.corpora.inputs import CorpusError, folder_of, input_files
from captionlab.corpora.readers.conversations import SPEAKERS, ModelTurns
from captionlab.corpora.readers.entries import Entry
from captionlab.corpora.readers.gathered import Gathered
from captionlab.corpora.readers.marks import MARKS, MarkedCaptions
from captionlab.images.locations import ImageLocation
from captionlab.userfiles.ids import file_id, id_text

# Number of rows in memory, and number of bytes of a file that are read ahead.
BATCH, BUFFER = 32, 1 << 20
# Names like data/train-00000-of-00005.parquet, to which older datasets add a digest, and words that name a split.
_SHARD = re.compile(r"(.+?)-\d+-of-\d+(?:-[0-9a-f]+)?")
_WORDS = {"train": "train", "training": "train", "test": "test", "testing": "test", "eval": "test"}
_WORDS |= {"evaluation": "test", "validation": "validation", "valid": "validation", "val": "validation"}
_WORDS |= {"dev": "validation"}
_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]*://", re.IGNORECASE)


def read(config: Mapping[str, Any], root: Path) -> Iterator[Entry]:
    """Yield the entries of Parquet files, sorted by name; splits are named as on the hub, for example `validation`.

    An image is stored as bytes in its row, or is a file that the row names. Captions in a conversation are the turns of
    the model. Other turns, and captions that columns or fields mark as unusable, are left out and counted in the log.
    Raises CorpusError if a row has a URL in place of an image.
    """
    files = [(path, split_of(path.relative_to(root / folder_of(config)))) for path in input_files(config, root)]
    columns = _Columns(config)
    for path, _ in files:
        with _whole(path), pq.ParquetFile(path) as file:
            columns.check(file.schema_arrow, path)
    gathered = None
    if "image_id" in config:
        gathered, position = Gathered[str | None](), 0
        for path, split in files:
            for number, row in enumerate(_rows(path, columns.but_images)):
                where = f"{path}, row {number}"
                key = f"{_value(config, 'split', row, where) or split}\0{_value(config, 'image_id', row, where)}"
                gathered.add(position, key, columns.texts(row, where))
                position += 1
    position = 0
    for path, split in files:
        for number, row in enumerate(_rows(path, columns.all)):
            captions = gathered.of(position) if gathered else columns.texts(row, f"{path}, row {number}")
            position += 1
            if captions is None:  # an earlier row is about this image
                continue
            usable = columns.marked.usable(captions)
            if usable is not None:
                yield _entry(config, root, path, split, number, row, usable if columns.captions else None)
    for left_out in (columns.turns, columns.marked):
        left_out.log(root / folder_of(config))


def split_of(path: Path) -> str:
    """Return the split that the path of a Parquet file below its dataset names, as the hub derives it, else `train`."""
    if found := _SHARD.fullmatch(path.stem):
        return found[1]
    for part in (path.stem, *(parent.name for parent in path.parents)):
        for word in re.split(r"[^a-z]+", part.lower()):
            if word in _WORDS:
                return _WORDS[word]
    return "train"


class _Columns:
    """The columns that the config names, and counts of the captions in them that are left out."""

    def __init__(self, config: Mapping[str, Any]):
        self.config, self.image = config, config.get("image", "image")
        captions = config.get("captions", "caption")
        self.captions: list[str] = [captions] if isinstance(captions, str) else list(captions or [])
        self.turns, self.marked = ModelTurns(), MarkedCaptions()
        texts = [name.partition(".")[0] for name in self.captions]
        texts += MARKS if texts else ()  # columns that a file may have
        self.but_images = list(
            dict.fromkeys([*texts, *(config[key] for key in ("image_id", "split") if key in config)])
        )
        self.all = [self.image, *self.but_images]

    def check(self, schema: pa.Schema, path: Path) -> None:
        """Raise a CorpusError that names the column if a column is missing or of a type that cannot be read."""
        for key, name in [("image", self.image), *(("captions", name.partition(".")[0]) for name in self.captions)]:
            self._there(schema, path, key, name)
        for key in ("image_id", "split"):
            if key in self.config:
                self._there(schema, path, key, self.config[key])
        kind = _decoded(schema.field(self.image).type)
        names = {kind.field(i).name for i in range(kind.num_fields)} if pa.types.is_struct(kind) else set()
        if not (_is_text(kind) or _is_bytes(kind) or names & {"bytes", "path"}):
            raise CorpusError(
                f"{path}: the column {self.image!r} is of type {kind}; images are a struct of bytes and path, bytes, "
                "or paths. Name their column in `image`"
            )
        for name in self.captions:
            outer, _, inner = name.partition(".")
            kind = _element(schema.field(outer).type)
            if inner:
                fields = [kind.field(i).name for i in range(kind.num_fields)] if pa.types.is_struct(kind) else []
                if inner not in fields:
                    raise CorpusError(f"{path}: the column {outer!r} has no field {inner!r}; it is of type {kind}")
                kind = _element(kind.field(inner).type)
            if not _is_text(kind):
                raise CorpusError(
                    f"{path}: the column {name!r} is of type {schema.field(outer).type}; captions are texts or lists "
                    "of texts. Name their column in `captions`, or write `captions: null` if there are none"
                )

    def texts(self, row: Mapping[str, Any], where: str) -> list[str | None]:
        """Return the captions of a row, in the order of the columns, with None in the place of marked captions.

        Missing captions and turns of people are left out.
        """
        texts: list[str | None] = []
        for name in self.captions:
            speaker = SPEAKERS.get(name.partition(".")[2])
            for text, fields in _captions(row, name):
                if self.marked.leave_out(fields, where):
                    texts.append(None)
                else:
                    texts += self.turns.texts([(str(fields[speaker]), text)]) if speaker in fields else [text]
        return texts

    @staticmethod
    def _there(schema: pa.Schema, path: Path, key: str, name: str) -> None:
        if name not in schema.names:
            raise CorpusError(
                f"{path} has no column {name!r} ({key}); it has {', '.join(schema.names)}. Name it in `{key}`"
            )


def _entry(
    config: Mapping[str, Any],
    root: Path,
    path: Path,
    split: str,
    number: int,
    row: Mapping[str, Any],
    captions: Sequence[str] | None,
) -> Entry:
    """Return the entry of row `number` of a file. Raises CorpusError if the image is a URL."""
    value = row[config.get("image", "image")]
    image = value if isinstance(value, Mapping) else {"path" if isinstance(value, str) else "bytes": value}
    content, name = image.get("bytes"), image.get("path")
    if name and content is None and _ADDRESS.match(name):
        raise CorpusError(
            f"{path}, row {number} has {name[:60]!r} for an image; addresses are not fetched. Fetch the images, with "
            "img2dataset say, and read its tars (`reader: webdataset`), or put paths in place of the addresses"
        )
    split = _value(config, "split", row, f"{path}, row {number}") or split
    image_id = _value(config, "image_id", row, f"{path}, row {number}")
    if image_id is None:
        image_id = file_id(name) if name else f"{split}/{path.stem}/{number:08d}"
    folder = root / config.get("images", folder_of(config))
    # A missing image gets the place where it should be, and becomes a reject.
    place = ImageLocation(data=content) if content is not None else ImageLocation(str(folder / (name or "")))
    return Entry(image_id, split, place, captions, member=f"{path.name}, row {number}" if content is not None else None)


def _value(config: Mapping[str, Any], key: str, row: Mapping[str, Any], where: str) -> str | None:
    """Return the id or split, as text, in the column that the config names in `key`; None without such a key.

    Raises CorpusError if the row has no value.
    """
    if key not in config:
        return None
    value = row[config[key]]
    if key == "image_id":
        value = id_text(value, f"{where}: {config[key]!r}")
    if value is None:
        raise CorpusError(
            f"{where} has nothing in the column {config[key]!r} ({key}), and every row needs it; fill it in, or leave "
            f"`{key}` out of the config"
        )
    return str(value)


def _rows(path: Path, columns: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Yield the rows of a file, with few rows in memory at a time."""
    with _whole(path), pq.ParquetFile(path, buffer_size=BUFFER) as file:
        for batch in file.iter_batches(BATCH, columns=list(dict.fromkeys(columns)), use_threads=False):
            yield from batch.to_pylist()


@contextmanager
def _whole(path: Path) -> Iterator[None]:
    """Raise a CorpusError that names the file if it is damaged."""
    try:
        yield
    except (pa.ArrowInvalid, OSError) as error:
        if isinstance(error, OSError) and error.errno:  # an error of the machine, not of the file
            raise
        raise CorpusError(
            f"{path} is no whole Parquet file ({str(error)[:100]}); is it complete? Fetch it again"
        ) from error


def _captions(row: Mapping[str, Any], name: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each text in a column, without None, with its marks and speaker.

    These are fields of the same struct, which hold single values or a list for all texts, or columns of the row.
    """
    outer, _, inner = name.partition(".")
    for index, value in enumerate(_listed(row[outer])):
        if value is None:
            continue
        for number, text in enumerate(_listed(value[inner])) if inner else [(index, value)]:
            if text is not None:
                yield text, _fields(value if inner else row, number)


def _fields(record: Mapping[str, Any], number: int) -> dict[str, Any]:
    """Return the marks and the speaker of the text `number` of a struct or row."""
    fields = {name: record[name] for name in (*MARKS, *SPEAKERS.values()) if name in record}
    return {
        name: (value[number : number + 1] or [None])[0] if isinstance(value, list) else value
        for name, value in fields.items()
    }


def _listed(value: Any) -> list[Any]:
    """Return the values of a list, or a single value as a list."""
    return value if isinstance(value, list) else [value]


def _element(kind: pa.DataType) -> pa.DataType:
    """Return the type of the elements of a list, or the type of a column that holds no lists."""
    kind = _decoded(kind)
    lists = pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)
    return _decoded(kind.value_type) if lists else kind


def _decoded(kind: pa.DataType) -> pa.DataType:
    """Return the type of the values of a dictionary-encoded column, or the type of any other column."""
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def _is_text(kind: pa.DataType) -> bool:
    return pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)


def _is_bytes(kind: pa.DataType) -> bool:
    return pa.types.is_binary(kind) or pa.types.is_large_binary(kind)
