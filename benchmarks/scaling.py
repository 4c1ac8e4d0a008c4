"""Unit costs on a processor of what grows with a corpus: reading it, decoding images, its tables, loading features.

    python benchmarks/scaling.py FOLDER [--images 1000] [--rows 300000]

FOLDER gets some hundred megabytes, which are deleted in the end. Images are JPEG files of 500 x 375 pixels; features
are those of CLIP ViT-B/32, 512 numbers in single precision. Each step is a process of its own with one thread; the
memory is what it adds to a process that has imported the library (Linux). benchmarks/gpu.py measures models.
"""

import argparse
import logging
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import torch
from PIL import Image

from captionlab.corpora.reading import read_corpus
from captionlab.corpora.tables import TABLES
from captionlab.encoders.embeddings import embedding_rows, load_embeddings, stream_embeddings
from captionlab.encoders.images import crop, decode
from captionlab.places import PLACE
from captionlab.schemas import CAPTIONS, IMAGES, embeddings_schema
from captionlab.tables import TableWriter, read_table
from captionlab.training.loop.data import references, training_images

WIDTH, HEIGHT, DIMENSIONS = 500, 375, 512
CAPTION = "a man in a red shirt rides a horse along the beach at sunset"


def main() -> None:
    """Print the unit costs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--images", type=int, default=1000, help="files that are read and decoded")
    parser.add_argument("--rows", type=int, default=300_000, help="rows of the tables that are loaded")
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(dir=arguments.folder))
    try:
        write_images(folder, arguments.images)
        write_tables(folder, arguments.rows)
        print("| step | items | per second | seconds | memory MB | bytes of an item |\n|---|---|---|---|---|---|")
        corpus, features = folder / "corpus", [folder / "features.parquet"]
        size_of = {name: (folder / f"{name}.parquet").stat().st_size for name in ("images", "captions", "features")}
        count, rows = arguments.images, arguments.rows
        show("read_corpus: images", count, partial(read, folder, corpus), bytes_below(folder / "images"))
        show("decode and crop: images", count, partial(decode_images, corpus), bytes_below(folder / "images"))
        show("table of images", rows, partial(training_images, folder / "images.parquet"), size_of["images"])
        show("table of captions", rows, partial(captions_of, folder), size_of["captions"])
        show("load_embeddings", rows, partial(load, folder, features), size_of["features"])
        show("stream_embeddings", rows, partial(stream, folder, features), size_of["features"])
    finally:
        shutil.rmtree(folder)


def show(name: str, items: int, step: Callable[[], Any], size: int) -> None:
    """Run a step in a new process and print its row."""
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        seconds, memory = pool.submit(measured, step).result()
    print(
        f"| {name} | {items} | {items / seconds:.0f} | {seconds:.2f} | {memory:.0f} | {size / items:.0f} |", flush=True
    )


def measured(step: Callable[[], Any]) -> tuple[float, float]:
    """Seconds of a step, and the memory in MB that it adds at its peak."""
    torch.set_num_threads(1)
    logging.disable()
    before, start = peak(), time.perf_counter()
    step()
    return time.perf_counter() - start, peak() - before


def peak() -> float:
    """The most memory that this process had, in MB."""
    status = dict(line.split(":") for line in Path("/proc/self/status").read_text().splitlines())
    return int(status["VmHWM"].split()[0]) * 1024 / 1e6


def write_images(folder: Path, count: int) -> None:
    """Files as Conceptual Captions has them: smooth shapes with some noise, so that they compress as photographs do."""
    generator = np.random.default_rng(0)
    (folder / "images").mkdir()
    (folder / "captions.tsv").write_text("".join(f"{CAPTION}\thttp://host/{row}\n" for row in range(count)))
    for row in range(count):
        shapes = Image.fromarray(generator.integers(0, 256, (12, 16, 3), np.uint8)).resize((WIDTH, HEIGHT))
        noisy = np.asarray(shapes, np.int16) + generator.normal(0, 8, (HEIGHT, WIDTH, 1)).astype(np.int16)
        image = Image.fromarray(noisy.clip(0, 255).astype(np.uint8))
        image.save(folder / "images" / f"{row:08d}.jpg", quality=85)


def write_tables(folder: Path, rows: int) -> None:
    """The tables of a corpus of so many images, with one caption each, and of its features."""
    kind = embeddings_schema(DIMENSIONS, "float32")
    values = np.random.default_rng(1).standard_normal((kind.group_rows, DIMENSIONS))
    with (
        TableWriter(folder / "images.parquet", IMAGES) as images,
        TableWriter(folder / "captions.parquet", CAPTIONS) as captions,
        TableWriter(folder / "features.parquet", kind) as features,
    ):
        for start in range(0, rows, kind.group_rows):
            places = list(range(start, min(start + kind.group_rows, rows)))
            names = [f"{place:08d}" for place in places]
            same = {
                "split": "train",
                "offset": None,
                "length": None,
                "data": None,
                "width": WIDTH,
                "height": HEIGHT,
                "image_set": None,
            }
            paths = [f"data/conceptual-captions/train/{name}.jpg" for name in names]
            repeated = {name: [value] * len(names) for name, value in same.items()}
            images.write({"image_id": names, "position": places, "path": paths, **repeated})
            texts = [f"{CAPTION} {place}" for place in places]
            captions.write({"image_id": names, "caption_index": [0] * len(names), "caption": texts})
            ids = pa.chunked_array([names])
            features.write(embedding_rows(ids, values[: len(names)], kind, folder / "features.parquet"))


def read(folder: Path, corpus: Path) -> None:
    """Read the corpus as its rule does."""
    corpus.mkdir()
    config = {"annotations": {"train": "captions.tsv"}, "images": {"train": "images"}, "reader": "conceptual-captions"}
    read_corpus(config, folder, {name: corpus / f"{name}.parquet" for name in TABLES}, 1, "corpus")


def decode_images(corpus: Path) -> None:
    """Decode the images as an encoder wants them."""
    table = read_table(corpus / "images.parquet", IMAGES, ["image_id", *PLACE])
    exhaust(decode([table], partial(crop, size=224), 1))


def captions_of(folder: Path) -> None:
    """Read the references of all images."""
    references(folder / "captions.parquet", training_images(folder / "images.parquet"))


def load(folder: Path, features: list[Path]) -> None:
    """Load the features as a training does."""
    load_embeddings(features, training_images(folder / "images.parquet"))


def stream(folder: Path, features: list[Path]) -> None:
    """Read the features as generation does."""
    exhaust(stream_embeddings(features, training_images(folder / "images.parquet"), 64))


def exhaust(items: Iterator[Any]) -> None:
    """Go through all items."""
    for _ in items:
        pass


def bytes_below(folder: Path) -> int:
    """Size of the files in a folder."""
    return sum(path.stat().st_size for path in folder.iterdir())


if __name__ == "__main__":
    main()
