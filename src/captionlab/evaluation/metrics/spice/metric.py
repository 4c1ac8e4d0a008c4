"""SPICE (Anderson et al. 2016) by its authors' program, which comes with pycocoevalcap.

pycocoevalcap's wrapper is not used: it writes into the folder it is installed in, downloads its parser there, keeps one
cache of parses that two processes must not share, and fails on Java 15 and newer. Here the program runs in a temporary
folder. The parses of the references come from a table that only rule parse_references writes.
"""

import json
import logging
import os
import platform
import re
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import lmdb
import pyarrow as pa
from pycocoevalcap import spice

from captionlab.evaluation.java import OPTIONS, find_java, java_failure
from captionlab.evaluation.summary import (
    Job,
    Metric,
    OfCaptions,
    Result,
    caption_results,
    caption_values,
    mean,
)
from captionlab.jobs.programs import program_environment
from captionlab.statistics.intervals import PER_CENT
from captionlab.storage.schemas import CAPTION_KEY
from captionlab.storage.tables import Column, TableSchema, read_table

logger = logging.getLogger(__name__)

METRICS = {"SPICE": Metric("all", mean, PER_CENT)}
_DOUBLE, _INT = pa.float64(), pa.int32()
# The categories of the program beside All, with their descriptions.
CATEGORIES = {
    "Object": "objects",
    "Relation": "relations",
    "Attribute": "attributes",
    "Color": "colours",
    "Cardinality": "numbers from one to ten, which the paper prints as Count",
    "Size": "sizes",
}
# The parser's time and memory grow with the third and second power of the length: 25 s and 300 MB for 100 words. If
# memory runs out it drops a sentence silently. So longer captions are cut here, and counted.
LONGEST = 60
# Memory of a job, in MB, beside Java's heap: for Java itself, and for Python with its tables.
BESIDE_HEAP = 1000
# Packages that the program's serialisation libraries access by reflection.
OPENED = ("java.lang", "java.math", "java.net", "java.text", "java.util", "java.util.concurrent")
# Most bytes of an LMDB key. The program reports a longer caption as an error, but continues.
LONGEST_KEY = 511
HARMLESS = re.compile(r'Error: Could not cache item to .*? with key:\n".*?"\nCaption may be too long\n', re.DOTALL)

SPICE = TableSchema(
    "SPICE scores",
    "a caption scored by SPICE",
    tuple(CAPTION_KEY),
    **CAPTION_KEY,
    all=Column(_DOUBLE, "f-score of all tuples, 0 to 1: SPICE"),
    **{
        name.lower(): Column(_DOUBLE, f"f-score of {what}, 0 to 1; missing when no reference has one", nullable=True)
        for name, what in CATEGORIES.items()
    },
    candidate_tuples=Column(_INT, "tuples found in the caption"),
    reference_tuples=Column(_INT, "tuples found in its references together; with 0, `all` is 0 by definition"),
    words_left_out=Column(_INT, f"words of the caption after the {LONGEST} that are parsed"),
)
PARSES = TableSchema(
    "parses of references",
    "a reference caption and what SPICE's parser found in it, both as SPICE's cache stores them",
    ("key",),
    key=Column(pa.binary(), "the caption"),
    tuples=Column(pa.binary(), "its objects, attributes and relations"),
)


class SpiceError(RuntimeError):
    """SPICE's program failed or was killed."""


def results(job: Job, path: str, seed: int) -> Iterator[Result]:
    """Yield the results by corpus."""
    return caption_results(job, read_table(path, SPICE), seed, METRICS)


def of_captions(path: str, factors: Mapping[str, float]) -> Iterator[OfCaptions]:
    """Yield SPICE of each caption."""
    return caption_values(read_table(path, SPICE), {"SPICE": "all"})


def has_cache() -> bool:
    """Return whether the program can store parses on this machine: its database exists only for some platforms."""
    return (platform.system(), platform.machine()) in {("Linux", "x86_64"), ("Darwin", "x86_64"), ("Windows", "AMD64")}


def parse_captions(
    captions: Sequence[str], jars: Sequence[Path], memory_mb: int, threads: int
) -> dict[str, list[bytes]]:
    """Return the columns of PARSES for tokenised captions; empty if the program cannot store parses on this machine.

    Raises SpiceError if the program fails.
    """
    different = sorted({_cut(caption)[0] for caption in captions})
    if not different or not has_cache():
        return {"key": [], "tuples": []}
    entries = [{"image_id": 0, "test": caption, "refs": [caption]} for caption in different]
    with tempfile.TemporaryDirectory(prefix="spice-") as folder:
        cache = _cache(Path(folder))
        _run(Path(folder), entries, jars, memory_mb, threads, ["-cache", cache])
        with lmdb.open(cache, readonly=True, lock=False) as database, database.begin() as reading:
            rows = {bytes(key): bytes(value) for key, value in reading.cursor()}
    return {"key": [*rows], "tuples": [*rows.values()]}


def cache_keys(captions: Sequence[str]) -> dict[bytes, str]:
    """Return the captions whose parses can be stored, cut to the parsed length, by their keys in PARSES."""
    keys = {_key(text): text for text in sorted({_cut(caption)[0] for caption in captions})}
    return {key: text for key, text in keys.items() if len(key) <= LONGEST_KEY}


def score_captions(
    captions: Sequence[str],
    references: Sequence[Sequence[str]],
    jars: Sequence[Path],
    memory_mb: int,
    threads: int,
    parses: Mapping[str, Sequence[bytes]] | None = None,
) -> dict[str, list[Any]]:
    """Return the columns of the table SPICE, without its key, for tokenised captions, each against its references.

    parses: columns of PARSES; references that are not there are parsed again. A caption without a tuple scores 0, as in
    the program, and so does a caption whose references have no tuple. Both are logged. Raises SpiceError if the program
    fails, and ValueError if a caption has no reference.
    """
    if bare := [index for index, refs in enumerate(references) if not refs]:
        raise ValueError(f"{len(bare)} captions have no reference to be scored against, the first is number {bare[0]}")
    if not captions:
        return {name: [] for name in SPICE.columns if name not in CAPTION_KEY}
    cut, cut_references = list(map(_cut, captions)), [list(map(_cut, refs)) for refs in references]
    entries = [
        {"image_id": index, "test": caption, "refs": [reference for reference, _ in refs]}
        for index, ((caption, _), refs) in enumerate(zip(cut, cut_references, strict=True))
    ]
    with tempfile.TemporaryDirectory(prefix="spice-") as name:
        folder, scores = Path(name), Path(name, "scores.json")
        arguments = ["-out", str(scores), "-subset"]
        if parses and has_cache():
            arguments += ["-cache", _cache(folder, parses)]
        _run(folder, entries, jars, memory_mb, threads, arguments)
        found = {entry["image_id"]: entry["scores"] for entry in json.loads(scores.read_text(encoding="utf-8"))}
    if found.keys() != {*range(len(captions))}:
        counts = f"{len(found)} of {len(captions)} captions"
        raise SpiceError(f"SPICE scored {counts}; run again, and report it if it stays so")
    ordered = [found[index] for index in range(len(captions))]
    columns: dict[str, list[Any]] = {
        name.lower(): [score[name]["f"] for score in ordered] for name in ("All", *CATEGORIES)
    }
    columns["candidate_tuples"] = [score["All"]["tp"] + score["All"]["fp"] for score in ordered]
    columns["reference_tuples"] = [score["All"]["tp"] + score["All"]["fn"] for score in ordered]
    columns["words_left_out"] = [left_out for _, left_out in cut]
    long = sum(left_out > 0 for refs in cut_references for _, left_out in refs)
    for count, what in (
        (sum(left_out > 0 for _, left_out in cut), f"captions are longer than {LONGEST} words and were cut there"),
        (long, f"captions: so many references are longer than {LONGEST} words and were cut there"),
        (columns["candidate_tuples"].count(0), "captions say nothing that SPICE understands and score 0"),
        (columns["reference_tuples"].count(0), "captions have references that say nothing it understands, and score 0"),
    ):
        if count:
            logger.warning("%d of %d %s", count, len(captions), what)
    return columns


def _cut(caption: str) -> tuple[str, int]:
    """Return the first LONGEST words of a caption, and the number of words left out."""
    words = caption.split()
    return " ".join(words[:LONGEST]), max(len(words) - LONGEST, 0)


def _key(caption: str) -> bytes:
    """Return a caption as FST 2.47, which the program uses, serialises a string: its length and its UTF-16 units."""
    units = memoryview(caption.encode("utf-16-le")).cast("H").tolist()
    length = bytes([len(units)]) if len(units) < 128 else b"\x80" + len(units).to_bytes(2, "little")
    return b"\xfc" + length + b"".join(bytes([u]) if u < 255 else b"\xff" + u.to_bytes(2, "little") for u in units)


def _cache(folder: Path, parses: Mapping[str, Sequence[bytes]] | None = None) -> str:
    """Make a database in the program's format with these parses; return its path."""
    path = folder / "cache"
    path.mkdir()
    if parses:
        size = sum(map(len, parses["key"])) + sum(map(len, parses["tuples"]))
        with lmdb.open(str(path), map_size=8 * size + 2**24) as database, database.begin(write=True) as writing:
            for key, tuples in zip(parses["key"], parses["tuples"], strict=True):
                writing.put(key, tuples)
    return str(path)


def _run(
    folder: Path, entries: list[dict[str, Any]], jars: Sequence[Path], memory_mb: int, threads: int, options: list[str]
) -> None:
    (folder / "captions.json").write_text(json.dumps(entries), encoding="utf-8")
    program = Path(spice.__file__).parent
    classes = [program / "spice-1.0.jar", program / "lib" / "*", *(jar.resolve() for jar in jars)]
    command = [
        str(find_java()),
        *OPTIONS,
        f"-Xmx{memory_mb}m",
        # Without this the parser treats a shortage of memory as a sentence that cannot be parsed.
        "-XX:+ExitOnOutOfMemoryError",
        # The program starts a parser for each processor that it sees, whatever its option -threads says.
        f"-XX:ActiveProcessorCount={threads}",
        # Java 8 has no modules and ignores the options for them.
        *(f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in OPENED),
        "--enable-native-access=ALL-UNNAMED",
        f"-Djava.io.tmpdir={folder}",
        *("-classpath", os.pathsep.join(map(str, classes)), "edu.anu.spice.SpiceScorer"),
        *(str(folder / "captions.json"), "-silent", *options),
    ]
    logger.info("SPICE parses and scores %d captions with their references", len(entries))
    done = subprocess.run(command, cwd=folder, capture_output=True, env=program_environment())
    output, messages = (stream.decode(errors="replace") for stream in (done.stdout, done.stderr))
    messages = HARMLESS.sub("", messages).strip()
    logger.info("%s", messages)
    if done.returncode == 0:
        return
    if done.returncode == 3 or "OutOfMemoryError" in output + messages:
        raise SpiceError(
            f"SPICE needs more than the {memory_mb} MB of memory it may take for {threads} parsers; give the rule more "
            "(mem_mb), or fewer threads"
        )
    raise SpiceError(java_failure("SPICE", done.returncode, messages))
