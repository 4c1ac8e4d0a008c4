"""Runs of Weights & Biases in offline mode: their files, which are logs in the format of LevelDB with W&B's records."""

import json
from pathlib import Path

from wandb.proto import wandb_internal_pb2

HEADER, BLOCK, RECORD = 7, 32768, 7  # bytes of the file's own header, of a block, and of the header of a record
WHOLE, LAST = 1, 4  # kinds of records: a whole one, and the last part of one that goes over blocks


def records(path: Path):
    """The records of a file in their order."""
    content, at, parts = path.read_bytes(), HEADER, b""
    while at + RECORD <= len(content):
        if BLOCK - at % BLOCK < RECORD:  # the rest of the block is padding
            at += BLOCK - at % BLOCK
            continue
        length, kind = int.from_bytes(content[at + 4 : at + 6], "little"), content[at + 6]
        parts += content[at + RECORD : at + RECORD + length]
        at += RECORD + length
        if kind in (WHOLE, LAST):
            record = wandb_internal_pb2.Record()
            record.ParseFromString(parts)
            parts = b""
            yield record


def history(path: Path) -> list[dict]:
    """The values of each step, as they were logged; a picture or a table is a dict with its file."""
    rows = []
    for record in records(path):
        if record.WhichOneof("record_type") == "history":
            rows.append({})
            for item in record.history.item:
                *outer, name = [item.key] if item.key else item.nested_key
                values = rows[-1]
                for key in outer:
                    values = values.setdefault(key, {})
                values[name] = json.loads(item.value_json)
    return rows


def run_of(path: Path):
    """The record of the run: its id, name, project and config."""
    (run,) = [record.run for record in records(path) if record.WhichOneof("record_type") == "run"][:1]
    return run
