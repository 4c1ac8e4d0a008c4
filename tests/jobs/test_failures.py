"""Failures of the machine: a clear error, never a wrong table."""

import errno
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from captionlab.encoders.embeddings import embedding_rows, load_embeddings
from captionlab.jobs.failures import advice
from captionlab.reporting.tables.formats.files import write_text
from captionlab.storage.schemas import TRAINING, embeddings_schema
from captionlab.storage.tables import TableError, TableWriter, read_metadata, read_table, write_table

ROWS = {"step": [1, 2], "epoch": [0, 0], "statistic": ["loss", "loss"], "value": [2.5, 2.25]}
IDS = [f"image {number}" for number in range(300)]


@pytest.fixture
def shard(tmp_path) -> Path:
    """A shard of embeddings."""
    values = np.random.default_rng(3).standard_normal((len(IDS), 16)).astype(np.float32)
    kind, path = embeddings_schema(16, "float32"), tmp_path / "0-of-1.parquet"
    with TableWriter(path, kind) as writer:
        writer.write(embedding_rows(pa.chunked_array([IDS]), values, kind, path))
    return path


def test_a_flipped_bit_is_an_error_or_harmless_wherever_it_is(shard):
    intact, good = shard.read_bytes(), load_embeddings(shard)
    errors = 0
    for place in np.random.default_rng(5).integers(0, len(intact), 200):
        damaged = bytearray(intact)
        damaged[place] ^= 1 << int(place) % 8
        shard.write_bytes(damaged)
        try:
            found = load_embeddings(shard)
        except TableError as error:
            errors += str(shard) in str(error)
            continue
        # For instance in a statistic that nothing reads.
        assert found.ids == good.ids
        assert found.values.equal(good.values)
    # Most of the file is values.
    assert errors > 150


@pytest.mark.parametrize("size", [0, 3, 0.5, 0.99])
def test_a_shard_that_was_cut_off_is_named(shard, size):
    content = shard.read_bytes()
    shard.write_bytes(content[: int(size * len(content)) if isinstance(size, float) else size])
    with pytest.raises(TableError, match=r"0-of-1\.parquet is no readable Parquet file .*delete it and run again"):
        load_embeddings(shard)
    with pytest.raises(TableError, match=r"0-of-1\.parquet is no readable Parquet file"):
        read_metadata(shard)


def test_a_shard_that_is_not_there_is_named(tmp_path):
    with pytest.raises(TableError, match=r"gone\.parquet: no such file"):
        load_embeddings(tmp_path / "gone.parquet")


@pytest.fixture
def full(tmp_path):
    """Make a name stand for a file on a full disk."""
    if not Path("/dev/full").exists():
        pytest.skip("this system has no /dev/full")
    return lambda name: (tmp_path / name).symlink_to("/dev/full")


def test_a_full_disk_leaves_the_old_table(tmp_path, full):
    path = tmp_path / "training.parquet"
    write_table(path, TRAINING, ROWS)
    before = path.read_bytes()
    full(".training.parquet.partial")
    with pytest.raises(OSError, match="No space left on device") as raised:
        write_table(path, TRAINING, {**ROWS, "value": [0.0, 0.0]})
    assert path.read_bytes() == before
    assert sorted(p.name for p in tmp_path.iterdir()) == ["training.parquet"]
    assert "is full" in advice(raised.value, str(path))


def test_a_full_disk_leaves_the_old_text(tmp_path, full):
    path = tmp_path / "evaluation.csv"
    write_text(path, "before")
    full(".evaluation.csv.partial")
    with pytest.raises(OSError, match="No space left on device"):
        write_text(path, "after")
    assert path.read_text() == "before"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["evaluation.csv"]


class OutOfMemoryError(RuntimeError):
    """Named as torch names it."""


@pytest.mark.parametrize(
    ("failure", "expected"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), r"disk that holds .* is full \(\d+ MB free\)"),
        (RuntimeError("PytorchStreamWriter failed: No space left on device"), "is full"),
        (OSError(errno.EROFS, "Read-only file system", "results/x"), "^results/x may not be written"),
        (PermissionError(errno.EACCES, "Permission denied", "results/x"), "^results/x may not be written"),
        (OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB"), "GPU .*optimizer.accumulate"),
        (IsADirectoryError(errno.EISDIR, "Is a directory", "a.tsv"), "^a.tsv is a folder, and a file is wanted"),
        (MemoryError(), "too little free memory.*--cores"),
    ],
)
def test_failures_of_the_machine_come_with_advice(failure, expected, tmp_path):
    assert re.search(expected, advice(failure, str(tmp_path / "results" / "x.parquet")))
    wrapped = ValueError("the table could not be written")
    wrapped.__cause__ = failure
    assert re.search(expected, advice(wrapped, None))


def test_other_failures_come_without(tmp_path):
    assert advice(ValueError("row 7"), str(tmp_path)) is None
    assert advice(FileNotFoundError(errno.ENOENT, "No such file", "a.txt"), None) is None


def test_torch_calls_it_so():
    import torch

    assert torch.OutOfMemoryError.__name__ == OutOfMemoryError.__name__


def test_the_log_of_a_job_has_the_advice(tmp_path):
    log = tmp_path / "job.log"
    code = f"""
from types import SimpleNamespace
from captionlab.jobs.scripting import script
from snakemake.iocontainers import InputFiles
class OutOfMemoryError(RuntimeError): pass
job = dict(rule="generate_captions", wildcards={{}}, params={{}}, threads=1, resources={{}})
snakemake = SimpleNamespace(log=[{str(log)!r}], input=InputFiles(), output=["x"], **job)
@script
def main(snakemake): raise OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB")
"""
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert result.returncode != 0
    for text in (log.read_text(), result.stderr):
        assert "Tried to allocate" in text
        assert "nvidia-smi" in text


def test_a_killed_tokeniser_is_named(tmp_path, monkeypatch):
    from captionlab.evaluation.java import JavaError
    from captionlab.evaluation.ptb import tokenize

    java = tmp_path / "java"
    java.write_text('#!/bin/sh\ntest "$1" = -version && exit 0\nkill -9 $$\n')
    java.chmod(0o755)
    monkeypatch.setenv("JAVA", os.fspath(java))
    with pytest.raises(JavaError, match=r"tokeniser ended with signal 9.*mem_mb"):
        tokenize(["a dog"])


def test_a_read_only_folder_is_an_error(tmp_path):
    if os.geteuid() == 0:
        pytest.skip("the superuser may write anywhere; tests/runs/test_broken_runs.py mounts a read-only folder")
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(PermissionError) as raised:
            write_table(tmp_path / "training.parquet", TRAINING, ROWS)
        assert "may not be written" in advice(raised.value, None)
    finally:
        tmp_path.chmod(0o700)


def test_reading_gives_back_what_was_written(tmp_path):
    write_table(tmp_path / "t.parquet", TRAINING, ROWS)
    assert read_table(tmp_path / "t.parquet", TRAINING).to_pydict() == ROWS
