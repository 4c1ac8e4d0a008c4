"""Measure what it costs a training to be watched in TensorBoard, in seconds of the processors.

    python benchmarks/tracking.py [--updates 300] [--every 50] [--rounds 5]

The toy world's ClipCap learns references in batches of 50, and at each validation captions of eight images are shown.
Trainings with and without TensorBoard alternate, so that other work on the machine slows both. Seconds are those of
all threads of the process, the one that writes included; what importing TensorBoard costs, once for each training, is
given apart, and so is the work by itself: a tenth of a millisecond is lost in the noise of a training.
"""

import argparse
import contextlib
import statistics
import tempfile
import time
from pathlib import Path

import numpy as np
import torch
from PIL import Image

from captionlab.declarations import family_class
from captionlab.generation.contract import Decoding
from captionlab.generation.decoding import decode
from captionlab.schemas import IMAGES
from captionlab.tables import write_table
from captionlab.tracking.tracker import NOBODY, Example, Run, Tracker, Update
from captionlab.training.loop.batches import CaptionBatches
from captionlab.training.loop.examples import Examples
from captionlab.training.loop.trainer import Validation, train
from captionlab.training.objectives.cross_entropy import CrossEntropy

IMAGES_OF_TRAINING, SIZE, EXAMPLES = 1000, 256, 8
ARCHITECTURE = {
    "prefix_length": 4, "width": 128, "layers": 2, "heads": 4, "positions": 40, "mapper_hidden": 256, "vocabulary": 400,
}  # fmt: skip


def images(folder: Path) -> Path:
    """A table of the images that are shown, noise of the size of photographs of COCO."""
    ids, draw = [f"image-{row}" for row in range(EXAMPLES)], np.random.default_rng(0)
    columns = dict.fromkeys(IMAGES.columns, [None] * EXAMPLES)
    columns |= {"image_id": ids, "position": [*range(EXAMPLES)], "split": ["train"] * EXAMPLES}
    columns |= {"path": [str(folder / f"{name}.jpg") for name in ids], "width": [640] * 8, "height": [480] * 8}
    for path in columns["path"]:
        Image.fromarray(draw.integers(0, 256, (480, 640, 3), np.uint8)).save(path)
    write_table(folder / "images.parquet", IMAGES, columns)
    return folder / "images.parquet"


def training(folder: Path, tracker: Tracker, updates: int, every: int) -> tuple[float, bytes]:
    """Seconds of the processors of a training, and its weights."""
    draw = np.random.default_rng(1)
    words = [f"word{number}" for number in range(200)]
    texts = [" ".join(draw.choice(words, 12)) for _ in range(IMAGES_OF_TRAINING)]
    torch.manual_seed(0)
    family = family_class("captioners", "clipcap")
    captioner, tokenizer = family.for_corpus(iter(texts), [], SIZE, ARCHITECTURE)
    visual = torch.randn(IMAGES_OF_TRAINING, SIZE)
    encoded = [[[*ids[: captioner.longest - 1], tokenizer.end]] for ids in tokenizer.encode(texts)]
    batches = CaptionBatches(visual, encoded, 50, 1, tokenizer.end)

    def caption(model):
        tokens = decode(model, visual[:EXAMPLES], Decoding("greedy", 15), tokenizer).tokens
        return tokenizer.decode(tokens.tolist()), [0.5] * EXAMPLES

    examples = Examples([f"image-{row}" for row in range(EXAMPLES)], [[text] for text in texts[:EXAMPLES]], caption)
    start = time.process_time()
    train(
        captioner,
        CrossEntropy(),
        batches,
        {"kind": "adamw", "lr": 1e-3, "steps": updates},
        seed=1,
        log_path=folder / "training.parquet",
        state_directory=tempfile.mkdtemp(dir=folder),
        fingerprint="f",
        device="cpu",
        validation=Validation(lambda model: 0.0, every, "cider", False, examples),
        tracker=tracker,
    )
    taken = time.process_time() - start
    return taken, b"".join(value.numpy().tobytes() for value in captioner.state_dict().values())


def alone(table: Path) -> None:
    """Print what the work for TensorBoard takes by itself, where the noise of a training does not hide it."""
    from captionlab.tracking.tensorboard import Board

    board = Board(Run("benchmark", "alone", "benchmark", table))
    statistics_of_one = {name: 0.123 for name in "abcdefghi"}
    examples = [Example(f"image-{row}", ["ten words of a reference"] * 5, "a caption", 0.5) for row in range(EXAMPLES)]
    start = time.process_time()
    for step in range(1000):
        board.add(Update(step, statistics_of_one))
    updates = time.process_time()
    board.add(Update(1000, {}, examples))
    first = time.process_time()
    board.add(Update(1001, {}, examples))
    last = time.process_time()
    board.close()
    print(f"of an update {updates - start:.3f} ms; of the first validation {first - updates:.3f} s", end="")
    print(f", of a later one {last - first:.3f} s")


def main() -> None:
    """Print both medians and the ratio."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    for name, default in (("updates", 300), ("every", 50), ("rounds", 5)):
        parser.add_argument(f"--{name}", type=int, default=default)
    given = parser.parse_args()
    torch.set_num_threads(1)
    start = time.process_time()
    import captionlab.tracking.tensorboard  # noqa: F401

    print(f"importing TensorBoard: {time.process_time() - start:.2f} s")
    ratios, plain = [], []
    with tempfile.TemporaryDirectory() as name, contextlib.chdir(name):
        table = images(Path(name))
        alone(table)
        for number in range(given.rounds + 1):
            run = Run("benchmark", "x", "benchmark", table)
            without, weights = training(Path(name), NOBODY, given.updates, given.every)
            watched, others = training(Path(name), Tracker("tensorboard", run), given.updates, given.every)
            if others != weights:
                raise SystemExit("the watched training has other weights")
            if number:  # the first pair warms up
                ratios.append(watched / without)
                plain.append(without)
                print(f"{without:.2f} s alone, {watched:.2f} s watched", flush=True)
    print(f"an update: {statistics.median(plain) / given.updates * 1000:.1f} ms")
    print(f"watched: {100 * (statistics.median(ratios) - 1):+.2f} %, from {min(ratios):.3f} to {max(ratios):.3f}")


if __name__ == "__main__":
    main()
