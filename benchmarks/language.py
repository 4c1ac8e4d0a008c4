"""Time the measures of captions on 5,000 real captions: all without SPICE, then SPICE cold and warm.

    python benchmarks/language.py HL/annotations/test.jsonl [ANNOTATIONS.json ...] [--captions 5000]

The references are those of all images of the files: annotations of HL, of COCO, or Karpathy's. The captions are HL's
scene, action and rationale captions, shared out over these images; that most belong to another image costs no time. A
captioner writes one caption of an image with five references, so give as many images as there are.

The workflow itself runs on two cores, so that the times are what a user waits for, start-up included. SPICE is cold
where it parses the references and the captions, and warm for the second captioner, whose captions are others.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).parents[1]
KINDS = ("scene", "action", "rationale")
CAPTIONERS = ("first", "second")


def main() -> None:
    """Run the benchmark and print its three times."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("annotations", type=Path, nargs="+", help="JSON lines of HL, and JSON of COCO or Karpathy's")
    parser.add_argument("--captions", type=int, default=5000)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="language-") as name:
        folder = Path(name)
        write_experiment(folder, arguments.annotations, arguments.captions)
        snakemake(folder, *(f"results/captions/{captioner}/real.parquet" for captioner in CAPTIONERS))
        measures = ("statistics", "patterns", "unigrams")
        seconds = snakemake(
            folder,
            "results/evaluation/first/real/nlg.parquet",
            *(f"results/language/first/real/{measure}.parquet" for measure in measures),
        )
        print(f"{arguments.captions} captions, all measures without SPICE: {seconds:.1f} s", flush=True)
        snakemake(folder, "results/spice/models", "results/evaluation/second/real/tokens.parquet")
        cold = snakemake(folder, "results/evaluation/first/real/spice.parquet")
        print(f"{arguments.captions} captions, SPICE cold: {cold:.1f} s", flush=True)
        warm = snakemake(folder, "results/evaluation/second/real/spice.parquet")
        print(f"{arguments.captions} other captions, SPICE warm: {warm:.1f} s, {warm / cold:.2f} of cold")


def write_experiment(folder: Path, files: list[Path], count: int) -> None:
    """A config with two captioners that each caption the same images so many times, and their files."""
    references, texts = [], []
    for file in files:
        more, others = read(file)
        references += more
        texts += others
    if len(references) < 1 or len(texts) < 2 * count:
        sys.exit(f"{len(references)} images and {len(texts)} captions are given; two times {count} captions are needed")
    images = [str(number) for number in range(len(references))]
    entries = [
        {"id": number * 100 + index, "image_id": number, "caption": text}
        for number, of_image in enumerate(references)
        for index, text in enumerate(of_image)
    ]
    listed = [{"id": number, "file_name": f"{number}.jpg"} for number in range(len(references))]
    (folder / "references.json").write_text(json.dumps({"images": listed, "annotations": entries}))
    for place, captioner in enumerate(CAPTIONERS):
        rows = [
            {"image_id": images[row % len(images)], "caption_index": row // len(images), "caption": text}
            for row, text in enumerate(texts[place::2][:count])
        ]
        (folder / f"{captioner}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    corpus = {"reader": "coco", "annotations": {"test": "references.json"}, "images": None}
    config = {
        "name": "language benchmark",
        "seed": 1,
        "data": str(folder),
        "corpora": {"real": corpus},
        "captioners": {name: {"family": "file", "captions": {"real": f"{name}.jsonl"}} for name in CAPTIONERS},
        "evaluations": {"real": {"captioners": [*CAPTIONERS], "corpora": ["real"]}},
        "language": {"evaluation": "real", "model": {"corpus": "real", "splits": ["test"]}},
    }
    (folder / "config.yaml").write_text(json.dumps(config))


def read(file: Path) -> tuple[list[list[str]], list[str]]:
    """The references of each image of a file; and, of HL's, whose references are its object captions, all others."""
    if file.suffix == ".jsonl":
        entries = [json.loads(line)["captions"] for line in file.read_text(encoding="utf-8").splitlines()]
        return [entry["object"] for entry in entries], [
            text for kind in KINDS for entry in entries for text in entry[kind]
        ]
    content = json.loads(file.read_text(encoding="utf-8"))
    if "annotations" not in content:
        return [[sentence["raw"] for sentence in image["sentences"]] for image in content["images"]], []
    of_image = defaultdict(list)
    for annotation in content["annotations"]:
        of_image[annotation["image_id"]].append(annotation["caption"])
    return [*of_image.values()], []


def snakemake(folder: Path, *targets: str) -> float:
    """Make files of the experiment; the seconds that it took."""
    command = [sys.executable, "-m", "snakemake", "--cores", "2", "--directory", str(folder), "--quiet", "all"]
    command += ["--snakefile", str(ROOT / "Snakefile"), "--configfile", str(folder / "config.yaml"), "--", *targets]
    path = os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
    started = time.monotonic()
    subprocess.run(command, check=True, cwd=ROOT, env={**os.environ, "PYTHONPATH": path})
    return time.monotonic() - started


if __name__ == "__main__":
    main()
