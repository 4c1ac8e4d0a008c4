"""Parquet between rules: every kind of table is declared here once, and read and written through here.

A kind says what a row is, which columns it has (type, nullability, meaning and unit) and which of them are its key.
The schema is checked on writing and on reading; an error names the file and the column. A file is written beside its
place and then renamed, so a killed job leaves no half table. A checksum of each page tells when a disk damaged it.
"""

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pyarrow as pa
import pyarrow.compute
import pyarrow.parquet as pq

from captionlab import provenance
from captionlab.files import replacing
from captionlab.packing import pack, packed_schema, row_bytes, unpack, unpacked_schema, writer_options

# Rows of a group, and bytes of features in it: enough for columns to compress, and few enough to be read one at a time.
ROW_GROUP, GROUP_BYTES = 16_384, 8 << 20
# The key of the metadata that says which job made a table.
PROVENANCE = "provenance"


class TableError(ValueError):
    """A table does not have the columns, types or keys of its kind."""


@dataclass(frozen=True)
class Column:
    """One column: its Arrow type, what it means (with its unit), and whether a value may be missing."""

    type: pa.DataType
    meaning: str
    nullable: bool = False


@dataclass(frozen=True)
class Kind:
    """One kind of table: its name, what a row is, its columns in order, and the columns that identify a row."""

    name: str
    row: str
    columns: Mapping[str, Column]
    key: tuple[str, ...]

    @property
    def schema(self) -> pa.Schema:
        """The Arrow schema, without metadata."""
        return pa.schema([pa.field(name, c.type, nullable=c.nullable) for name, c in self.columns.items()])

    @property
    def group_rows(self) -> int:
        """Most rows of a group, which is what a reader has in memory at a time."""
        return max(1, min(ROW_GROUP, GROUP_BYTES // (row_bytes(self.schema) or 1)))


_STRING, _INT, _LONG, _FLOAT, _DOUBLE = pa.string(), pa.int32(), pa.int64(), pa.float32(), pa.float64()
# Columns that tables of several stages have.
IMAGE_ID = Column(_STRING, "identifier of the image in its corpus")
CORPUS = Column(_STRING, "name of the corpus in the config")
CAPTION_INDEX = Column(_INT, "rank of the caption among those of its image, from 0")

IMAGES = Kind(
    "images",
    "an image of a corpus that can be read",
    {
        "image_id": IMAGE_ID,
        "position": Column(_LONG, "rank in the annotation file, from 0 (the order of evaluation blocks)"),
        "split": Column(_STRING, "train, val, test or another split of the annotation file"),
        "path": Column(_STRING, "file of the image; missing when its bytes are in `data`", nullable=True),
        "data": Column(pa.binary(), "encoded image; missing when it is in a file", nullable=True),
        "width": Column(_INT, "pixels"),
        "height": Column(_INT, "pixels"),
        "image_set": Column(_STRING, "look-alike set that the image belongs to", nullable=True),
    },
    ("image_id",),
)
CAPTIONS = Kind(
    "captions",
    "a reference caption of an image",
    {
        "image_id": IMAGE_ID,
        "caption_index": CAPTION_INDEX,
        "caption": Column(_STRING, "text as in the annotation file"),
    },
    ("image_id", "caption_index"),
)
OBJECTS = Kind(
    "objects",
    "an annotated object of an image",
    {
        "image_id": IMAGE_ID,
        "object_index": Column(_INT, "rank of the object in its image, from 0"),
        "label": Column(_STRING, "class of the object"),
        "x1": Column(_FLOAT, "left edge, pixels"),
        "y1": Column(_FLOAT, "top edge, pixels"),
        "x2": Column(_FLOAT, "right edge, pixels"),
        "y2": Column(_FLOAT, "bottom edge, pixels"),
        "attributes": Column(pa.list_(_STRING), "colours, sizes and the like"),
    },
    ("image_id", "object_index"),
)
SCENES = Kind(
    "scenes",
    "a scene caption of an image",
    {
        "image_id": IMAGE_ID,
        "scene_index": Column(_INT, "rank of the scene caption in its image, from 0"),
        "caption": Column(_STRING, "text as in the annotation file"),
        "scene": Column(_STRING, "scene label where the corpus has one", nullable=True),
        "confidence": Column(_FLOAT, "the annotators' confidence, 1 to 5", nullable=True),
    },
    ("image_id", "scene_index"),
)
REJECTS = Kind(
    "rejects",
    "an entry of the annotation file that was left out",
    {
        "position": Column(_LONG, "rank of the entry in the annotation file, from 0"),
        "image_id": IMAGE_ID,
        "path": Column(_STRING, "file that was looked for", nullable=True),
        "reason": Column(_STRING, "missing, empty, broken, zero-size, duplicate or no-caption"),
        "detail": Column(_STRING, "what exactly was found"),
    },
    ("position", "image_id", "reason"),
)
GENERATED = Kind(
    "generated captions",
    "a caption that a captioner gave to an image",
    {
        "corpus": CORPUS,
        "image_id": IMAGE_ID,
        "caption_index": CAPTION_INDEX,
        "caption": Column(_STRING, "text"),
        "log_prob": Column(_DOUBLE, "sum of the log-probabilities of its tokens, nats", nullable=True),
        "confidence": Column(_DOUBLE, "geometric mean of the token probabilities, end included", nullable=True),
    },
    ("corpus", "image_id", "caption_index"),
)
TOKENS = Kind(
    "tokenised captions",
    "a caption after the tokeniser of the Penn treebank: lower case, no punctuation, joined by spaces",
    {
        "corpus": CORPUS,
        "image_id": IMAGE_ID,
        "caption_index": CAPTION_INDEX,
        "tokens": Column(_STRING, "tokens joined by spaces; empty when nothing but punctuation was there"),
    },
    ("corpus", "image_id", "caption_index"),
)
# The numbers of METEOR's own line of statistics.
METEOR_STATISTICS = 23
NLG = Kind(
    "scores against references",
    "a caption scored by n-gram metrics, with what a corpus value is computed from",
    {
        "corpus": CORPUS,
        "image_id": IMAGE_ID,
        "caption_index": CAPTION_INDEX,
        **{f"bleu_{n}": Column(_DOUBLE, f"BLEU-{n} of the caption alone, 0 to 1") for n in range(1, 5)},
        "bleu_counts": Column(
            pa.list_(_INT, 10),
            "tokens of the caption, of the reference closest in length; n-grams of the caption, n = 1 to 4; "
            "those found in a reference, n = 1 to 4",
        ),
        "meteor": Column(_DOUBLE, "METEOR of the caption alone, 0 to 1"),
        "meteor_statistics": Column(
            pa.list_(_DOUBLE, METEOR_STATISTICS),
            "with the best reference: tokens and function words of caption and reference; content and function words "
            "matched in each, by module (exact, stem, synonym, paraphrase); chunks, none where all is matched in one; "
            "tokens matched in each",
        ),
        "rouge_l": Column(_DOUBLE, "ROUGE-L, 0 to 1"),
        "cider": Column(_DOUBLE, "CIDEr, 0 to 10, idf from the references of the corpus"),
    },
    ("corpus", "image_id", "caption_index"),
)
RETRIEVAL = Kind(
    "retrieval ranks",
    "a caption used to find its image among candidates",
    {
        "corpus": CORPUS,
        "image_id": IMAGE_ID,
        "caption_index": CAPTION_INDEX,
        "retriever": Column(_STRING, "name of the encoder that scores"),
        "protocol": Column(_STRING, "where candidates come from: file-order, random, set or full"),
        "candidates": Column(_INT, "images to choose from, the right one included"),
        "rank": Column(_INT, "rank of the right image, from 1; a tie goes to it"),
    },
    ("corpus", "image_id", "caption_index", "retriever", "protocol"),
)
ALIGNMENT = Kind(
    "alignment scores",
    "a caption scored by a scorer for how well it matches its image",
    {
        "corpus": CORPUS,
        "image_id": IMAGE_ID,
        "caption_index": CAPTION_INDEX,
        "scorer": Column(_STRING, "name of the scorer in the config"),
        "score": Column(_DOUBLE, "matching score, on the scale that the scorer's settings give it"),
    },
    ("corpus", "image_id", "caption_index", "scorer"),
)
_CAPTIONER = Column(_STRING, "name of the captioner in the config")
_RETRIEVER = Column(_STRING, "name of the encoder, or scorer, that scores; missing for other metrics", nullable=True)
_CANDIDATES = Column(_STRING, "how many images to choose from and from where; missing for other metrics", nullable=True)
_METRIC = Column(_STRING, "metric as the field prints it; times 100 but for the mean rank")
SUMMARY = Kind(
    "values of metrics",
    "a metric of a captioner on a corpus",
    {
        "captioner": _CAPTIONER,
        "corpus": CORPUS,
        "split": Column(_STRING, "split of the corpus"),
        "evaluation": Column(_STRING, "name of the evaluation in the config"),
        "decoding": Column(_STRING, "name of the decoding in the config"),
        "retriever": _RETRIEVER,
        "candidates": _CANDIDATES,
        "metric": _METRIC,
        "value": Column(_DOUBLE, "value on all images"),
        "ci_low": Column(_DOUBLE, "lower end of the 95 % interval, bootstrap over images"),
        "ci_high": Column(_DOUBLE, "upper end of the same"),
        "n": Column(_INT, "images"),
        "device": Column(_STRING, "devices that captions and scores were computed on, joined; empty where unknown"),
    },
    ("captioner", "corpus", "evaluation", "retriever", "candidates", "metric"),
)
COMPARISONS = Kind(
    "differences between captioners",
    "a metric of a captioner against another's on the same images",
    {
        "captioner": _CAPTIONER,
        "against": Column(_STRING, "captioner whose value is subtracted: the parent"),
        "corpus": CORPUS,
        "split": Column(_STRING, "split of the corpus"),
        "evaluation": Column(_STRING, "name of the evaluation in the config"),
        "decoding": Column(_STRING, "name of the decoding in the config"),
        "retriever": _RETRIEVER,
        "candidates": _CANDIDATES,
        "metric": _METRIC,
        "difference": Column(_DOUBLE, "value minus the other's"),
        "ci_low": Column(_DOUBLE, "lower end of its 95 % interval, paired bootstrap over images"),
        "ci_high": Column(_DOUBLE, "upper end of the same"),
        "p_value": Column(_DOUBLE, "two-sided"),
        "test": Column(_STRING, "paired bootstrap, or exact McNemar for P@1"),
        "n": Column(_INT, "images"),
    },
    ("captioner", "against", "corpus", "evaluation", "retriever", "candidates", "metric"),
)
TRAINING = Kind(
    "training log",
    "a statistic at an update",
    {
        "step": Column(_LONG, "updates done, from 1"),
        "epoch": Column(_INT, "epoch of the update, from 0"),
        "statistic": Column(_STRING, "loss, reward, learning_rate and the like"),
        "value": Column(_DOUBLE, "its value"),
    },
    ("step", "statistic"),
)
COST = Kind(
    "cost of a job",
    "a job, beyond what Snakemake's benchmark of it says",
    {
        "rule": Column(_STRING, "name of the rule"),
        "job": Column(_STRING, "what the rule made: the name of its log file; empty where a rule has one job"),
        "seconds": Column(_DOUBLE, "wall time of the script's work, s"),
        "gpu_seconds": Column(_DOUBLE, "the same times the GPUs that it used, s; 0 without a GPU"),
        "gpu_memory_mb": Column(_DOUBLE, "most memory that torch held on a GPU, MB; 0 without a GPU"),
        "device": Column(_STRING, "name of the GPU, or kind of processor"),
    },
    ("rule", "job"),
)


def embeddings_kind(dimensions: int, precision: str = "float16") -> Kind:
    """A table of embeddings of so many dimensions, stored as float16 or float32."""
    values = {"float16": pa.float16(), "float32": pa.float32()}[precision]
    return Kind(
        "embeddings",
        "the embedding of an image",
        {
            "image_id": IMAGE_ID,
            "embedding": Column(pa.list_(values, dimensions), "output of the image tower, not normalised"),
        },
        ("image_id",),
    )


def regions_kind(dimensions: int, precision: str = "float32") -> Kind:
    """A table of regions whose features have so many numbers, stored as float16 or float32."""
    values = {"float16": pa.float16(), "float32": pa.float32()}[precision]
    return Kind(
        "regions",
        "a region of an image; those of an image are together",
        {
            "image_id": IMAGE_ID,
            "region_index": Column(_INT, "rank of the region in its image, from 0, in the order of the detector"),
            "x1": Column(_FLOAT, "left edge, pixels"),
            "y1": Column(_FLOAT, "top edge, pixels"),
            "x2": Column(_FLOAT, "right edge, pixels"),
            "y2": Column(_FLOAT, "bottom edge, pixels"),
            "width": Column(_INT, "width of the image, pixels"),
            "height": Column(_INT, "height of the image, pixels"),
            "confidence": Column(_FLOAT, "the detector's confidence in its class, 0 to 1", nullable=True),
            "label": Column(_STRING, "name of its class", nullable=True),
            "label_id": Column(_INT, "number of its class in the detector's vocabulary", nullable=True),
            "attribute_id": Column(_INT, "number of its attribute in the detector's vocabulary", nullable=True),
            "attribute_confidence": Column(_FLOAT, "the detector's confidence in the attribute, 0 to 1", nullable=True),
            "features": Column(pa.list_(values, dimensions), "what the detector saw in the region"),
        },
        ("image_id", "region_index"),
    )


class TableWriter:
    """Writes a table piece by piece; the file appears at `path` when the block ends without an error."""

    def __init__(self, path: str | os.PathLike[str], kind: Kind, metadata: Mapping[str, Any] | None = None):
        self.path, self.kind = Path(path), kind
        notes = dict(metadata or {}) | ({PROVENANCE: made_by} if (made_by := provenance.current()) else {})
        encoded = {name: json.dumps(value, sort_keys=True) for name, value in notes.items()}
        self.schema = kind.schema.with_metadata({"kind": kind.name, **encoded})
        self.rows = 0

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            partial = stack.enter_context(replacing(self.path))
            writer = pq.ParquetWriter(partial, packed_schema(self.schema), **writer_options(self.schema))
            self._writer = stack.enter_context(writer)
            self._open = stack.pop_all()
        return self

    def write(self, rows: pa.Table | Mapping[str, Any]) -> None:
        """Append rows: an Arrow table or a mapping from column to values."""
        table = conform(rows, self.kind, self.path).replace_schema_metadata(self.schema.metadata)
        try:
            packed = pack(table)
        except ValueError as error:
            raise TableError(f"{self.path}: {error}") from error
        self._writer.write_table(packed, row_group_size=self.kind.group_rows)
        self.rows += table.num_rows

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._open.__exit__(kind, error, trace)


def conform(rows: pa.Table | Mapping[str, Any], kind: Kind, path: str | os.PathLike[str]) -> pa.Table:
    """The rows as an Arrow table of this kind; a TableError names the column that does not fit."""
    names = rows.column_names if isinstance(rows, pa.Table) else list(rows)
    if missing := [name for name in kind.columns if name not in names]:
        raise TableError(f"{path}: a table of {kind.name} needs the column {missing[0]!r}; it has {', '.join(names)}")
    if extra := [name for name in names if name not in kind.columns]:
        raise TableError(f"{path}: a table of {kind.name} has no column {extra[0]!r}")
    arrays = []
    for name, column in kind.columns.items():
        try:
            values = rows[name]
            if isinstance(values, (pa.Array, pa.ChunkedArray)):
                array = values if values.type.equals(column.type) else values.cast(column.type)
            else:
                array = pa.array(values, column.type)
        except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError) as error:
            raise TableError(f"{path}: column {name!r} ({column.meaning}) must be {column.type}: {error}") from error
        if array.null_count and not column.nullable:
            raise TableError(f"{path}: column {name!r} ({column.meaning}) has {array.null_count} missing values")
        arrays.append(array)
    return pa.table(arrays, schema=kind.schema)


def write_table(
    path: str | os.PathLike[str],
    kind: Kind,
    rows: pa.Table | Mapping[str, Any],
    metadata: Mapping[str, Any] | None = None,
) -> None:
    """Write a whole table and refuse a repeated key."""
    table = conform(rows, kind, path)
    _check_key(table, kind, path)
    with TableWriter(path, kind, metadata) as writer:
        writer.write(table)


def read_table(
    paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    kind: Kind,
    columns: Sequence[str] | None = None,
) -> pa.Table:
    """Read one file or several of the same kind, in the order given, all columns or some."""
    if isinstance(paths, (str, os.PathLike)):
        paths = [paths]
    tables = [_read(path, kind, columns) for path in paths]
    if not tables:
        raise TableError(f"no file of {kind.name} was given")
    return pa.concat_tables(tables)


@contextmanager
def damage_named(path: str | os.PathLike[str]) -> Iterator[None]:
    """Turn what Arrow says of a damaged file, which does not name it, into a TableError."""
    try:
        yield
    except (pa.ArrowException, OSError) as error:
        raise TableError(f"{path} cannot be read to its end ({error}); delete it and run again") from error


def check_schema(path: str | os.PathLike[str], kind: Kind) -> None:
    """Raise a TableError that names file and column when a file is no table of this kind."""
    schema = read_schema(path)
    for name, column in kind.columns.items():
        if name not in schema.names:
            raise TableError(
                f"{path}: a table of {kind.name} needs the column {name!r}; it has {', '.join(schema.names)}"
            )
        if not schema.field(name).type.equals(column.type):
            raise TableError(
                f"{path}: column {name!r} is {schema.field(name).type}, a table of {kind.name} has {column.type}"
            )


def read_schema(path: str | os.PathLike[str]) -> pa.Schema:
    """The columns of a table, whatever its kind; a TableError names a file that is not there or cannot be read."""
    try:
        return unpacked_schema(pq.read_schema(path))
    except FileNotFoundError:
        raise TableError(f"{path}: no such file; run Snakemake again to make it") from None
    except (pa.ArrowException, OSError) as error:
        raise TableError(f"{path} is no readable Parquet file ({error}); delete it and run again") from error


def read_kind(path: str | os.PathLike[str]) -> str:
    """The name of the kind of a table, as its writer called it."""
    return (read_schema(path).metadata or {}).get(b"kind", b"").decode()


def read_metadata(path: str | os.PathLike[str]) -> dict[str, Any]:
    """What a writer said of a table, its kind and provenance aside."""
    stored = read_schema(path).metadata or {}
    own = {name.decode(): value for name, value in stored.items()}
    return {name: json.loads(text) for name, text in own.items() if name not in ("kind", "ARROW:schema", PROVENANCE)}


def read_provenance(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Of which job a table is and what it was made from (captionlab.provenance.current); empty when no job wrote it."""
    stored = (read_schema(path).metadata or {}).get(PROVENANCE.encode(), b"{}")
    return dict(json.loads(stored))


def _read(path: str | os.PathLike[str], kind: Kind, columns: Sequence[str] | None) -> pa.Table:
    check_schema(path, kind)
    with damage_named(path):
        table = pq.read_table(path, columns=list(columns or kind.columns), page_checksum_verification=True)
    return unpack(table).replace_schema_metadata(None)


def _check_key(table: pa.Table, kind: Kind, path: str | os.PathLike[str]) -> None:
    counts = table.group_by(list(kind.key)).aggregate([([], "count_all")])
    repeated = counts.filter(pa.compute.greater(counts["count_all"], 1)) if counts.num_rows < table.num_rows else None
    if repeated is not None:
        first = repeated.slice(0, 1).to_pylist()[0]
        first.pop("count_all")
        raise TableError(f"{path}: {repeated.num_rows} keys of {kind.name} are repeated, the first is {first}")
