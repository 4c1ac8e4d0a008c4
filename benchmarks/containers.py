"""The same small JPEGs in one tar and as plain files: reading them, embedding them and captioning them.

    python benchmarks/containers.py FOLDER [--images 100000] [--times 2]

FOLDER gets some hundred megabytes, which are deleted in the end. Images have 48 x 36 pixels; the encoder is a CLIP of
one layer, and the captioner a ClipCap of one. Each step is a process of its own with one thread, and tar and files take
turns. A tenth of the images, in a tar, goes first: memory is the peak of the process (Linux), libraries included.
"""

import argparse
import io
import json
import logging
import shutil
import tarfile
import tempfile
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import product
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image

from captionlab.captioners.clipcap import ClipCap
from captionlab.corpora.reading import read_corpus
from captionlab.corpora.tables import TABLES
from captionlab.encoders.clip import MEAN, STD, Clip, build
from captionlab.encoders.images import embed_images
from captionlab.generation.captioning import caption_images
from captionlab.generation.captions import evaluated_images
from captionlab.generation.contract import Decoding
from captionlab.networks.tokenizer import Tokenizer
from captionlab.schemas import GENERATED
from captionlab.tables import write_table

WIDTH, HEIGHT = 48, 36
CAPTIONS = ("a dog runs on the grass", "two men play a game", "a woman holds a red kite")
ARCHITECTURE = {
    "embed_dim": 16,
    "vision_cfg": {"image_size": 32, "layers": 1, "width": 32, "patch_size": 16, "head_width": 16},
    "text_cfg": {"context_length": 20, "vocab_size": 49408, "width": 32, "heads": 2, "layers": 1},
    "quick_gelu": False,
}
CONFIGS: Mapping[str, Mapping[str, Any]] = {
    "tar": {"reader": "webdataset", "tars": {"test": "images.tar"}},
    "files": {"reader": "karpathy", "annotations": "captions.json", "images": "images"},
}


def main() -> None:
    """Print a row for each step, form and number of images."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--images", type=int, default=100_000)
    parser.add_argument("--times", type=int, default=2, help="how often each form of each step is measured")
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    print("| step | form | images | per second | CPU seconds | peak MB |\n|---|---|---|---|---|---|")
    for count in (arguments.images // 10, arguments.images):
        folder = Path(tempfile.mkdtemp(dir=arguments.folder))
        try:
            write_images(folder, count)
            forms, times = ([*CONFIGS], arguments.times) if count == arguments.images else (["tar"], 1)
            for step, form in [*product((read, embed, caption), forms)] * times:
                show(step.__name__, form, count, partial(step, folder, form))
        finally:
            shutil.rmtree(folder)


def write_images(folder: Path, count: int) -> None:
    """The images, a tar of them and their captions, and the annotations of the plain files."""
    generator = np.random.default_rng(0)
    (folder / "images").mkdir()
    entries = []
    with tarfile.open(folder / "images.tar", "w") as tar:
        for number in range(count):
            shapes = Image.fromarray(generator.integers(0, 256, (6, 8, 3), np.uint8)).resize((WIDTH, HEIGHT))
            stream = io.BytesIO()
            shapes.save(stream, "JPEG", quality=85)
            key, text = f"{number:09d}", CAPTIONS[number % len(CAPTIONS)]
            (folder / "images" / f"{key}.jpg").write_bytes(stream.getvalue())
            for name, content in ((f"{key}.jpg", stream.getvalue()), (f"{key}.txt", text.encode())):
                info = tarfile.TarInfo(name)
                info.size = len(content)
                tar.addfile(info, io.BytesIO(content))
            entries.append({"filename": f"{key}.jpg", "split": "test", "sentences": [{"raw": text}]})
    (folder / "captions.json").write_text(json.dumps({"images": entries}))


def show(name: str, form: str, count: int, step: Callable[[], Any]) -> None:
    """Run a step in a new process and print its row."""
    with ProcessPoolExecutor(1, get_context("fork")) as pool:
        seconds, processor, memory = pool.submit(measured, step).result()
    print(f"| {name} | {form} | {count} | {count / seconds:.0f} | {processor:.1f} | {memory:.0f} |", flush=True)


def measured(step: Callable[[], Any]) -> tuple[float, float, float]:
    """Seconds of a step by the clock and of the processor, and the most memory of its process in MB."""
    torch.set_num_threads(1)
    logging.disable()
    start, processor = time.perf_counter(), time.process_time()
    step()
    seconds, processor = time.perf_counter() - start, time.process_time() - processor
    status = dict(line.split(":") for line in Path("/proc/self/status").read_text().splitlines())
    return seconds, processor, int(status["VmHWM"].split()[0]) * 1024 / 1e6


def read(folder: Path, form: str) -> None:
    """Read the corpus as its rule does."""
    read_corpus(CONFIGS[form], folder, {table: folder / form / f"{table}.parquet" for table in TABLES}, 1, form)


def embed(folder: Path, form: str) -> None:
    """Embed its images by a tiny encoder."""
    encoder = Clip(
        build(ARCHITECTURE), {"architecture": ARCHITECTURE, "image_mean": list(MEAN), "image_std": list(STD)}, "cpu"
    )
    embed_images(encoder, folder / form / "images.parquet", folder / form / "embeddings.parquet", batch=encoder.batch)


def caption(folder: Path, form: str) -> None:
    """Caption them from these embeddings by a tiny captioner, as the script does."""
    torch.manual_seed(0)
    tokenizer = Tokenizer.train(CAPTIONS, 300)
    captioner = ClipCap(
        prefix_size=16, prefix_length=2, width=16, layers=1, heads=2, positions=12, vocabulary=tokenizer.size
    )
    ids = evaluated_images(folder / form / "images.parquet", form, "test")
    decoding = Decoding("greedy", 8)
    rows = caption_images(captioner, tokenizer, ids, [str(folder / form / "embeddings.parquet")], decoding, form, 0)
    write_table(folder / form / "captions-generated.parquet", GENERATED, rows)


if __name__ == "__main__":
    main()
