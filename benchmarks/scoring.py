"""Time `captionlab score` against the plain script of pycocoevalcap, on the same captions and references.

    python benchmarks/scoring.py [--images 5000] [--rounds 3]

Texts are random words of English with frequencies as in a natural text, five references for each image. Both programs
start from files and take turns; ratios are the plain script's seconds by captionlab's, by round. Processor seconds
include child processes, such as Java. captionlab also computes 95 % intervals. All values are compared.
"""

import argparse
import json
import os
import random
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

TEXT = (
    "a the of on in with and is to man are sitting woman two standing at people down street holding his person an up "
    "next white dog cat red front black it table large tree field small by that train blue bench plate riding group "
    "water some green walking out food tennis her playing baseball top beach while room has snow brown ball young "
    "looking over baby horses skateboard bus kitchen clock laptop giraffes umbrella window building near bathroom "
    "grass flying eating pizza board wooden frisbee motorcycle kite toilet bears wearing computer old parked "
    "different sink "
)
WORDS = TEXT.split()
# As the README of pycocoevalcap puts its parts together, without SPICE.
PLAIN = """
import json, sys
from pycocoevalcap.bleu.bleu import Bleu
from pycocoevalcap.cider.cider import Cider
from pycocoevalcap.meteor.meteor import Meteor
from pycocoevalcap.rouge.rouge import Rouge
from pycocoevalcap.tokenizer.ptbtokenizer import PTBTokenizer

captions, references = (json.load(open(path)) for path in sys.argv[1:])
results, truths = {}, {}
for row in captions:
    results.setdefault(row["image_id"], []).append(row)
for row in references["annotations"]:
    truths.setdefault(row["image_id"], []).append(row)
tokenizer = PTBTokenizer()
truths, results = tokenizer.tokenize(truths), tokenizer.tokenize(results)
bleu = Bleu(4).compute_score(truths, results, verbose=0)[0]
found = {f"BLEU@{n}": value for n, value in enumerate(bleu, 1)}
for name, scorer in (("METEOR", Meteor()), ("ROUGE-L", Rouge()), ("CIDEr", Cider())):
    found[name] = scorer.compute_score(truths, results)[0]
print(json.dumps({name: 100 * float(value) for name, value in found.items()}))
"""


def write_files(folder: Path, images: int) -> list[str]:
    """Write captions and references of some images; return the paths."""
    generator, weights = random.Random(1), [1 / rank for rank in range(1, len(WORDS) + 1)]

    def text() -> str:
        words = generator.choices(WORDS, weights, k=generator.randint(8, 13))
        return f"{' '.join(words).capitalize()}."

    references = [
        {"image_id": image, "id": 5 * image + n, "caption": text()} for image in range(images) for n in range(5)
    ]
    captions = [{"image_id": image, "caption": text()} for image in range(images)]
    listed = [{"id": image} for image in range(images)]
    files = {"captions.json": captions, "references.json": {"images": listed, "annotations": references}}
    for name, content in files.items():
        (folder / name).write_text(json.dumps(content), encoding="utf-8")
    return [str(folder / name) for name in files]


def timed(command: Sequence[str]) -> tuple[str, float, float]:
    """Run a command; return what it prints, and its seconds of clock and processor."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    clock, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    return done.stdout, clock, sum(after[:2]) - sum(before[:2])


def main() -> None:
    """Print seconds of both programs, their ratios, and the largest difference of a value."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--images", type=int, default=5000)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    ratios: dict[str, list[float]] = {"clock": [], "processor": []}
    with TemporaryDirectory() as folder:
        files = write_files(Path(folder), arguments.images)
        for number in range(arguments.rounds):
            plain, *plain_seconds = timed([sys.executable, "-c", PLAIN, *files])
            ours, *our_seconds = timed([sys.executable, "-m", "captionlab", "score", "--json", *files])
            values = {row["metric"]: row["value"] for row in json.loads(ours)["scores"]}
            expected = json.loads(plain.splitlines()[-1])
            apart = max(abs(values[name] - value) for name, value in expected.items())
            for name, theirs, own in zip(ratios, plain_seconds, our_seconds, strict=True):
                ratios[name].append(theirs / own)
            seconds = ", ".join(f"{a:.1f} and {b:.1f}" for a, b in zip(plain_seconds, our_seconds, strict=True))
            print(f"round {number + 1}: seconds of clock, of processor: {seconds}; largest difference {apart:.2g}")
    for name, of_rounds in ratios.items():
        print(f"{name}: {statistics.median(of_rounds):.2f} ({min(of_rounds):.2f} to {max(of_rounds):.2f})")
    print(f"{arguments.images} images, {os.cpu_count()} processors")


if __name__ == "__main__":
    main()
