"""A run in TensorBoard: an event file of curves, cards of images and a table of captions."""

import io
import os
import shutil
import socket
import time
from pathlib import Path
from typing import Any

from PIL import Image
from tensorboard.compat.proto.event_pb2 import Event, SessionLog
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.plugins.text.summary import text_pb
from tensorboard.summary.writer.record_writer import RecordWriter

from captionlab import paths
from captionlab.tracking.pictures import Pictures, card
from captionlab.tracking.tracker import Run, Update, escaped, tag

COLOURS = 3  # of a pixel


class Board:
    """The event file of a run, alone in its folder."""

    def __init__(self, run: Run):
        folder = Path(paths.tracking(run.rule, run.name))
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        name = f"events.out.tfevents.{time.time():010.0f}.{socket.gethostname()}.{os.getpid()}"
        self.file = open(folder / name, "wb")  # noqa: SIM115
        self.records, self.pictures = RecordWriter(self.file), Pictures(run.images)
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
            values += text_pb("captions/table", table(update)).value
        self._write(step=update.step, summary=Summary(value=values))

    def flush(self) -> None:
        """Let others see all that was added."""
        self.records.flush()

    def close(self) -> None:
        """There is nothing more to come."""
        self.records.close()

    def _write(self, **event: Any) -> None:
        self.records.write(Event(wall_time=time.time(), **event).SerializeToString())


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
