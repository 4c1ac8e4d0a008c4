"""Time the measures of captions on 5,000 real captions: all without SPICE, then SPICE cold and warm.

    python benchmarks/language.py HL/annotations/test.jsonl [--captions 5000]

The captions are scene, action and rationale captions of HL's images, as evenly from all of them as the number allows,
their references the five object captions of the same images. The workflow itself runs on two cores, so that the times
are what a user waits for, start-up included. SPICE is cold where it parses the references and the captions, and warm
for the second captioner, whose captions are others.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
KINDS = ("scene", "action", "rationale")


def main() -> None:
    """Run the benchmark and print its three times."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("annotations", type=Path, help="JSON lines of HL")
    parser.add_argument("--captions", type=int, default=5000)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="language-") as name:
        folder = Path(name)
        write_experiment(folder, arguments.annotations.resolve(), arguments.captions)
        snakemake(folder, *(f"results/captions/{captioner}/hl.parquet" for captioner in ("first", "second")))
        measures = ("statistics", "patterns", "unigrams")
        seconds = snakemake(
            folder,
            "results/evaluation/first/hl/nlg.parquet",
            *(f"results/language/first/hl/{measure}.parquet" for measure in measures),
        )
        print(f"{arguments.captions} captions, all measures without SPICE: {seconds:.1f} s", flush=True)
        snakemake(folder, "results/spice/models", "results/evaluation/second/hl/tokens.parquet")
        cold = snakemake(folder, "results/evaluation/first/hl/spice.parquet")
        print(f"{arguments.captions} captions, SPICE cold: {cold:.1f} s", flush=True)
        warm = snakemake(folder, "results/evaluation/second/hl/spice.parquet")
        print(f"{arguments.captions} other captions, SPICE warm: {warm:.1f} s, {warm / cold:.2f} of cold")


def write_experiment(folder: Path, annotations: Path, count: int) -> None:
    """A config with two captioners that each have this many captions of the same images, and their files."""
    lines = annotations.read_text(encoding="utf-8").splitlines()
    (folder / "hl.jsonl").write_text("\n".join(lines), encoding="utf-8")
    entries = [json.loads(line) for line in lines]
    texts = {image(entry): [text for kind in KINDS for text in entry["captions"][kind]] for entry in entries}
    fewest, more = divmod(count, len(texts))
    for place, captioner in enumerate(("first", "second")):
        rows = []
        for number, (name, of_image) in enumerate(texts.items()):
            wanted = fewest + (number < more)
            chosen = of_image[place * wanted : (place + 1) * wanted]
            if len(chosen) < wanted:
                sys.exit(f"{annotations}: image {name} has {len(of_image)} captions, and two times {wanted} are needed")
            rows += [{"image_id": name, "caption_index": index, "caption": text} for index, text in enumerate(chosen)]
        (folder / f"{captioner}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    config = {
        "name": "language benchmark",
        "seed": 1,
        "data": str(folder),
        "corpora": {"hl": {"reader": "hl", "annotations": {"test": "hl.jsonl"}, "images": None}},
        "captioners": {name: {"family": "file", "captions": {"hl": f"{name}.jsonl"}} for name in ("first", "second")},
        "evaluations": {"hl": {"captioners": ["first", "second"], "corpora": ["hl"]}},
        "language": {"evaluation": "hl", "model": {"corpus": "hl", "splits": ["test"]}},
    }
    (folder / "config.yaml").write_text(json.dumps(config))


def image(entry: dict) -> str:
    """COCO's number of the image of an entry of HL."""
    return str(int(Path(entry["file_name"]).stem.split("_")[-1]))


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
