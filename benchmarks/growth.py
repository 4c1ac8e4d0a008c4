"""How evaluating captions grows with the number of images: CPU seconds and peak memory of each step, with the exponent.

    python benchmarks/growth.py HL/annotations/test.jsonl [ANNOTATIONS.json ...] [--images 1000 5000 25000]

The images are those of the files, again and again until there are enough, with five references and a caption each, as
in benchmarks/evaluation.py; the embeddings among which images are searched are random, 512 numbers each. A step does
what its rule does, in a process of its own with one thread; Java counts. The exponent is that of a power of the number
of images: fitted to all sizes, and between the two largest, where what every job costs matters least.
"""

import argparse
import logging
import resource
import tempfile
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from importlib.resources import files
from multiprocessing import get_context
from pathlib import Path

import numpy as np
from evaluation import REFERENCES, references_of, shortened
from threadpoolctl import threadpool_limits

from captionlab.evaluation.metrics.nlg import NLG, meteor_process, score_corpus
from captionlab.evaluation.metrics.retrieval import ranks, unit_length
from captionlab.evaluation.paraphrases import paraphrases_of, write_paraphrases
from captionlab.evaluation.ptb import tokenize
from captionlab.evaluation.references import read_references
from captionlab.evaluation.schemas import PARAPHRASES
from captionlab.schemas import TOKENS
from captionlab.tables import write_table

DIMENSIONS = 512


def main() -> None:
    """Print a row for each step: of each size CPU seconds and the most memory of a process, and the exponents."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("annotations", type=Path, nargs="+", help="JSON lines of HL, and JSON of COCO or Karpathy's")
    parser.add_argument("--images", type=int, nargs="+", default=[1000, 5000, 25000])
    arguments = parser.parse_args()
    shown = " | ".join(f"{count:,} images: CPU s, MB" for count in arguments.images)
    print(f"| step | {shown} | exponent | of the largest |\n|{'---|' * (len(arguments.images) + 3)}", flush=True)
    with tempfile.TemporaryDirectory(prefix="growth-") as folder:
        for name, step in STEPS.items():
            found = []
            for count in arguments.images:
                work = partial(step, Path(folder, str(count)), references_of(arguments.annotations, count))
                with ProcessPoolExecutor(1, get_context("spawn")) as pool:
                    found.append(pool.submit(measured, work).result())
            costs = " | ".join(f"{seconds:.1f}, {memory:.0f}" for seconds, memory in found)
            sizes, seconds = np.log(arguments.images), np.log([seconds for seconds, _ in found])
            exponents = (np.polyfit(sizes[-points:], seconds[-points:], 1)[0] for points in (len(sizes), 2))
            print(f"| {name} | {costs} | {' | '.join(f'{exponent:.2f}' for exponent in exponents)} |", flush=True)


def measured(work: Callable[[], None]) -> tuple[float, float]:
    """CPU seconds of a step, and the MB of the larger of this process and its Java program, at its peak."""
    logging.disable()
    usages = resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN
    before = sum(usage.ru_utime + usage.ru_stime for usage in map(resource.getrusage, usages))
    with threadpool_limits(1):
        work()
    after = [resource.getrusage(usage) for usage in usages]
    seconds = sum(usage.ru_utime + usage.ru_stime for usage in after) - before
    return seconds, max(usage.ru_maxrss for usage in after) * 1024 / 1e6


def prepare(folder: Path, references: list[list[str]]) -> None:
    """What references cost once (workflow/scripts/tokenize_references.py and find_paraphrases.py)."""
    rows = [(str(image), place) for image, of_image in enumerate(references) for place in range(len(of_image))]
    tokens = tokenize([text for of_image in references for text in of_image])
    images, indices = map(list, zip(*rows, strict=True))
    columns = {"corpus": ["real"] * len(rows), "image_id": images, "caption_index": indices, "tokens": tokens}
    write_table(folder / "references.parquet", TOKENS, columns)
    found = paraphrases_of(tokens, files("pycocoevalcap.meteor") / "data" / "paraphrase-en.gz")
    write_table(folder / "paraphrases.parquet", PARAPHRASES, found)


def score(folder: Path, references: list[list[str]]) -> None:
    """What a captioner costs (workflow/scripts/tokenize_captions.py and score_nlg.py), after `prepare`."""
    given = [shortened(of_image[image % REFERENCES], image) for image, of_image in enumerate(references)]
    captions = {(str(image), 0): tokens for image, tokens in enumerate(tokenize(given))}
    known, few = read_references(folder / "references.parquet"), folder / "few.gz"
    write_paraphrases(captions.values(), folder / "paraphrases.parquet", few)
    with meteor_process(few) as meteor, meteor_process(few, bare=True) as bare:
        write_table(folder / "nlg.parquet", NLG, score_corpus("real", captions, known, meteor, bare))


def search(protocol: str, folder: Path, references: list[list[str]]) -> None:
    """The ranks of a caption of each image, from embeddings that are there."""
    generator, names = np.random.default_rng(0), [str(number) for number in range(len(references))]
    texts, images = (
        unit_length(generator.standard_normal((len(names), DIMENSIONS), np.float32), names, what)
        for what in ("captions", "images")
    )
    ranks(texts, np.arange(len(names)), images, protocol, corpus="random")


STEPS: dict[str, Callable[[Path, list[list[str]]], None]] = {
    "references: tokens and paraphrases": prepare,
    "captions: tokens, BLEU, METEOR, ROUGE-L, CIDEr": score,
    "retrieval in file order": partial(search, "file-order"),
    "retrieval among 100 at random": partial(search, "random"),
    "retrieval among all": partial(search, "full"),
}

if __name__ == "__main__":
    main()
