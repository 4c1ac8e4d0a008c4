"""A run in TensorBoard: an event file of curves, cards of images and a table of captions.

Of TensorBoard's own code only the messages and what it says of the text plugin are imported. Its writer of records, and
its function that makes a text, import clients of clouds, which takes longer than all that a short training shows.
"""

import io
import os
import shutil
import socket
import struct
import time
from functools import cache
from pathlib import Path
from typing import Any

from PIL import Image
from tensorboard.compat.proto.event_pb2 import Event, SessionLog
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.compat.proto.tensor_pb2 import TensorProto
from tensorboard.compat.proto.tensor_shape_pb2 import TensorShapeProto
from tensorboard.compat.proto.types_pb2 import DT_STRING
from tensorboard.plugins.text.metadata import create_summary_metadata

from captionlab import paths
from captionlab.tracking.pictures import Pictures, card
from captionlab.tracking.tracker import Run, Update, escaped, tag

COLOURS = 3  # of a pixel
CASTAGNOLI = 0x82F63B78  # polynomial of CRC-32C, its bits from the last to the first


class Board:
    """The event file of a run, alone in its folder."""

    def __init__(self, run: Run):
        folder = Path(paths.tracking(run.rule, run.name))
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        name = f"events.out.tfevents.{time.time():010.0f}.{socket.gethostname()}.{os.getpid()}"
        self.file = open(folder / name, "wb")  # noqa: SIM115
        self.pictures = Pictures(run.images)
        self._write(file_version="brain.Event:2")
        # A TensorBoard that is open forgets what an earlier file has from step 0 on.
        self._write(step=0, session_log=SessionLog(status=SessionLog.START))

    def add(self, update: Update) -> None:
        """Show one more update."""
        values = [Summary.Value(tag=tag(name), simple_value=value) for name, value in update.statistics.items()]
        if update.examples:
            images = self.pictures.of(example.image_id for example in update.examples)
            for image, example in zip(images, update.examples, strict=True):
                values.append(Summary.Value(tag=f"captions/{example.image_id}", image=encoded(card(image, example))))
            values.append(text("captions/table", table(update)))
        self._write(step=update.step, summary=Summary(value=values))

    def flush(self) -> None:
        """Let others see all that was added."""
        self.file.flush()

    def close(self) -> None:
        """There is nothing more to come."""
        self.file.close()

    def _write(self, **event: Any) -> None:
        self.file.write(record(Event(wall_time=time.time(), **event).SerializeToString()))


def record(content: bytes) -> bytes:
    """A record of an event file: its length and the content, each followed by its checksum (TFRecord of TensorFlow)."""
    length = struct.pack("<Q", len(content))
    return length + struct.pack("<I", checksum(length)) + content + struct.pack("<I", checksum(content))


def checksum(content: bytes) -> int:
    """CRC-32C of some bytes (RFC 3720, appendix B.4), rotated and shifted as TFRecord has it."""
    crc, remainders = 0xFFFFFFFF, _remainders()
    for byte in content:
        crc = remainders[(crc ^ byte) & 0xFF] ^ (crc >> 8)
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


@cache
def _remainders() -> list[int]:
    """Of each byte its remainder by CASTAGNOLI."""
    remainders = [*range(256)]
    for _ in range(8):
        remainders = [one >> 1 ^ CASTAGNOLI * (one & 1) for one in remainders]
    return remainders


def text(name: str, content: str) -> Summary.Value:
    """A text as events have it."""
    tensor = TensorProto(dtype=DT_STRING, tensor_shape=TensorShapeProto(), string_val=[content.encode()])
    return Summary.Value(tag=name, tensor=tensor, metadata=create_summary_metadata(None, None))


def encoded(picture: Image.Image) -> Summary.Image:
    """A picture as events have it."""
    stream = io.BytesIO()
    picture.save(stream, "JPEG", quality=90)
    content = stream.getvalue()
    return Summary.Image(height=picture.height, width=picture.width, colorspace=COLOURS, encoded_image_string=content)


def table(update: Update) -> str:
    """The examples of an update as a table in Markdown, from which no text can break out."""
    rows = [
        (
            escaped(example.image_id),
            escaped(example.caption),
            "" if example.reward is None else f"{example.reward:.4g}",
            "<br>".join(map(escaped, example.references)),
        )
        for example in update.examples
    ]
    lines = [("image", "caption", "reward", "references"), ("---",) * 4, *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
