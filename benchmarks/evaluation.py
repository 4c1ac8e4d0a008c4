"""Time BLEU, METEOR, ROUGE-L and CIDEr of many captions beside the plain script that everybody runs.

    python benchmarks/evaluation.py HL/annotations/test.jsonl [ANNOTATIONS.json ...] [--images 5000] [--rounds 3]

The images are those of the files, again and again until there are enough, with five references each; a caption is one
of these with every third word left out. Each round times, in turn: pycocoevalcap's own classes on the captions of one
captioner; the workflow from an empty folder for the same, Snakemake included; the workflow for an evaluation of two
captioners, whose references are there. All must give the same values.
"""

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable
from itertools import cycle, islice
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

ROOT = Path(__file__).parents[1]
EVALUATIONS = {"one": ["first"], "two": ["second", "third"]}
CAPTIONERS = [name for names in EVALUATIONS.values() for name in names]
REFERENCES = 5
COLUMNS = ("rouge_l", "cider", "meteor", "bleu_4")


def main() -> None:
    """Run the benchmark and print seconds of the clock and of processors."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("annotations", type=Path, nargs="+", help="JSON lines of HL, and JSON of COCO or Karpathy's")
    parser.add_argument("--images", type=int, default=5000)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    found: dict[str, list[tuple[float, float]]] = {}
    with tempfile.TemporaryDirectory(prefix="evaluation-") as name:
        os.environ["XDG_CACHE_HOME"] = str(Path(name, "cache"))
        for place in range(arguments.rounds):
            folder = Path(name, str(place))
            folder.mkdir()
            write_experiment(folder, arguments.annotations, arguments.images)
            for what, work in {
                "plain script": lambda folder=folder: plain(folder),
                "workflow, one captioner": lambda folder=folder: snakemake(folder, nlg("one")),
                "workflow, two captioners": lambda folder=folder: snakemake(folder, nlg("two")),
            }.items():
                found.setdefault(what, []).append(timed(work))
                print(f"{what}: {found[what][-1][0]:.1f} s, {found[what][-1][1]:.1f} CPU s", flush=True)
            compare(folder)
    for what, rounds in found.items():
        clock, processor = (statistics.median(column) for column in zip(*rounds, strict=True))
        print(f"{what}, median: {clock:.1f} s, {processor:.1f} CPU s")


def nlg(evaluation: str) -> str:
    """The table of the scores of an evaluation."""
    return f"results/evaluation/nlg/{evaluation}.parquet"


def timed(work: Callable[[], object]) -> tuple[float, float]:
    """Seconds of the clock, and those that processors worked for this process and its children."""
    kinds = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)

    def processor() -> float:
        return sum(usage.ru_utime + usage.ru_stime for usage in map(resource.getrusage, kinds))

    before, started = processor(), time.monotonic()
    work()
    return time.monotonic() - started, processor() - before


def write_experiment(folder: Path, files: list[Path], count: int) -> None:
    """References and captions of all captioners for so many images, and a config."""
    references = references_of(files, count)
    entries = [
        {"id": number * 10 + index, "image_id": number, "caption": text}
        for number, of_image in enumerate(references)
        for index, text in enumerate(of_image)
    ]
    images = [{"id": number, "file_name": f"{number}.jpg"} for number in range(count)]
    (folder / "references.json").write_text(json.dumps({"images": images, "annotations": entries}))
    for place, captioner in enumerate(CAPTIONERS):
        rows = []
        for number, of_image in enumerate(references):
            text = shortened(of_image[(number + place) % REFERENCES], number)
            rows.append({"image_id": str(number), "caption_index": 0, "caption": text})
        (folder / f"{captioner}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    config = {
        "name": "evaluation benchmark",
        "seed": 1,
        "data": str(folder),
        "corpora": {"real": {"reader": "coco", "annotations": {"test": "references.json"}, "images": None}},
        "captioners": {name: {"family": "file", "captions": {"real": f"{name}.jsonl"}} for name in CAPTIONERS},
        "evaluations": {name: {"captioners": of, "corpora": ["real"]} for name, of in EVALUATIONS.items()},
    }
    (folder / "config.yaml").write_text(json.dumps(config))


def references_of(files: list[Path], count: int) -> list[list[str]]:
    """Five references of each image of the files, again and again until there are so many images."""
    known = [of_image[:REFERENCES] for file in files for of_image in read(file) if len(of_image) >= REFERENCES]
    return list(islice(cycle(known), count))


def read(file: Path) -> list[list[str]]:
    """Return the references of each image of a file; HL's are its object captions."""
    if file.suffix == ".jsonl":
        entries = [json.loads(line)["captions"] for line in file.read_text(encoding="utf-8").splitlines()]
        return [entry["object"] for entry in entries]
    content = json.loads(file.read_text(encoding="utf-8"))
    if "annotations" not in content:
        return [[sentence["raw"] for sentence in image["sentences"]] for image in content["images"]]
    of_image = defaultdict(list)
    for annotation in content["annotations"]:
        of_image[annotation["image_id"]].append(annotation["caption"])
    return [*of_image.values()]


def shortened(text: str, number: int) -> str:
    """The caption of an image of that number: a reference without every third word."""
    return " ".join(word for index, word in enumerate(text.split()) if index % 3 != number % 3) or "a"


def snakemake(folder: Path, *targets: str) -> None:
    """Let the workflow make files of the experiment."""
    command = [sys.executable, "-m", "snakemake", "--cores", "2", "--directory", str(folder), "--quiet", "all"]
    command += ["--snakefile", str(ROOT / "Snakefile"), "--configfile", str(folder / "config.yaml"), "--", *targets]
    path = os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
    subprocess.run(command, check=True, cwd=ROOT, env={**os.environ, "PYTHONPATH": path})


PLAIN = """
import json, sys
from pycocoevalcap.bleu.bleu import Bleu
from pycocoevalcap.cider.cider import Cider
from pycocoevalcap.meteor.meteor import Meteor
from pycocoevalcap.rouge.rouge import Rouge
from pycocoevalcap.tokenizer.ptbtokenizer import PTBTokenizer

references, captions = {}, {}
for entry in json.load(open("references.json"))["annotations"]:
    references.setdefault(str(entry["image_id"]), []).append({"caption": entry["caption"]})
for line in open(sys.argv[1], encoding="utf-8"):
    row = json.loads(line)
    captions[row["image_id"]] = [{"caption": row["caption"]}]
tokenizer = PTBTokenizer()
pair = tokenizer.tokenize(references), tokenizer.tokenize(captions)
bleu = Bleu(4).compute_score(*pair, verbose=0)[1][3]
scores = {"bleu_4": bleu, **{
    name: list(map(float, metric.compute_score(*pair)[1]))
    for name, metric in {"meteor": Meteor(), "rouge_l": Rouge(), "cider": Cider()}.items()
}}
json.dump({"image_id": [*captions], **scores}, open("plain.json", "w"))
"""


def plain(folder: Path) -> None:
    """What users of pycocoevalcap run."""
    command = [sys.executable, "-c", PLAIN, f"{CAPTIONERS[0]}.jsonl"]
    subprocess.run(command, check=True, cwd=folder, stderr=subprocess.DEVNULL)


def compare(folder: Path) -> None:
    """End with an error unless both gave the same value of each caption; CIDEr adds up in another order."""
    expected, table = json.loads((folder / "plain.json").read_text()), pq.read_table(folder / nlg("one"))
    rows = {image: place for place, image in enumerate(table["image_id"].to_pylist())}
    order = [rows[image] for image in expected["image_id"]]
    for name in COLUMNS:
        if not np.allclose(table[name].to_numpy()[order], expected[name], rtol=0, atol=1e-12 * (name == "cider")):
            sys.exit(f"{name} differs from pycocoevalcap's")


if __name__ == "__main__":
    main()
