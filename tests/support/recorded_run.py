"""A finished run as jobs leave it, made without the workflow: data of a user, a trained captioner, captions, tables."""

import json
from collections.abc import Sequence
from pathlib import Path

import yaml
from support.reporting_run import retrieved, row

from captionlab.installation import PROJECT
from captionlab.storage import paths
from captionlab.storage.files import digest
from captionlab.storage.schemas import CAPTIONS, COMPARISONS, GENERATED, SUMMARY
from captionlab.storage.tables import write_table

REFERENCE, CAPTION, IMAGE = "a reference that a person wrote", "a caption that mine generated", b"bytes of an image"
COMMIT = "0123456789ab"
CARD = """---
language: en
library_name: captionlab
tags: [captionlab, captioner]
---

# mine

Finetuned from [base](../base/README.md).

## How to load it

In Python, where `FOLDER` is that of this card.

## How to cite it

- captionlab
"""


def recorded_run(folder: Path) -> Path:
    """Make the run in a folder, beside files of its user, and return the folder of the run."""
    user, run = folder / "home of ada", folder / "run"
    user.mkdir(parents=True)
    (user / "annotations.json").write_text(json.dumps([REFERENCE]))
    corpora = {"coco": {"reader": "karpathy", "annotations": str(user / "annotations.json")}}
    config = {"name": "mine", "seed": 1, "data": str(user / "data"), "corpora": corpora}
    _text(run, paths.CONFIG, yaml.safe_dump(config))
    images, references = (paths.corpus(table, corpus="coco") for table in ("images", "captions"))
    (run / images).parent.mkdir(parents=True)
    (run / images).write_bytes(IMAGE)
    write_table(run / references, CAPTIONS, [{"image_id": "1", "caption_index": 0, "caption": REFERENCE}])
    _job(run, "read_corpus", "coco", [str(user / "annotations.json")], [images, references])
    own = [paths.captioner(file, captioner="mine") for file in ("config.json", "model.safetensors", "tokenizer.json")]
    for name, text in zip(own, (json.dumps({"list": str(user / "list.txt")}), "weights", "{}"), strict=True):
        _text(run, name, text)
    _text(run, paths.captioner("README.md", captioner="mine"), CARD)
    _job(run, "finetune_captioner", "mine", [images, references], own)
    made, copied = paths.captions("mine", "main"), paths.captions("human", "main")
    for name, text in ((made, CAPTION), (copied, REFERENCE)):
        rows = {"corpus": "coco", "image_id": "1", "caption_index": 0, "log_prob": None, "confidence": None}
        write_table(run / name, GENERATED, [{**rows, "caption": text}], {"decoding": {"kind": "greedy"}})
    _job(run, "generate_captions", "mine/main", [*own, images], [made])
    _job(run, "import_captions", "human/main", [references], [copied])
    summary, comparisons = (paths.reporting(f"{name}.parquet") for name in ("summary", "comparisons"))
    write_table(run / summary, SUMMARY, [row("mine", "coco", "CIDEr", 50.0), retrieved("mine", "coco", 70.0)])
    write_table(run / comparisons, COMPARISONS, [])
    _job(run, "summarise_evaluation", "", [made, copied], [summary, comparisons])
    for name, text in {
        "evaluation.csv": "captioner,metric,value\nmine,CIDEr,50\n",
        "examples.csv": f"captioner,reference,caption\nmine,{REFERENCE},{CAPTION}\n",
        "examples.md": REFERENCE,
        "pairs.csv": f"captioner,against,caption,against_caption\nmine,human,{CAPTION},{REFERENCE}\n",
        "single.csv": f"captioner,against,caption,against_caption\nmine,mine,{CAPTION},{CAPTION}\n",
        "shown.html": '<img src="data:image/png;base64,AA">',
        "pictures/shown-1.png": IMAGE.decode(),
    }.items():
        _text(run, paths.table(name), text)
    _job(run, "collect_tables", "", [summary, comparisons, "CITATION.cff"], [paths.TABLES])
    return run


def _text(run: Path, name: str, text: str) -> None:
    (run / name).parent.mkdir(parents=True, exist_ok=True)
    (run / name).write_text(text)


def _job(run: Path, rule: str, name: str, inputs: Sequence[str], outputs: Sequence[str]) -> None:
    def digests(files: Sequence[str]) -> dict[str, str]:
        return {file: digest(run / file if (run / file).exists() else PROJECT / file) for file in files}

    made = {
        "rule": rule, "wildcards": {"name": name} if name else {}, "params": {"seed": 1, "versions": {"torch": "2"}},
        "inputs": digests(inputs), "outputs": digests(outputs), "commit": COMMIT, "device": "CPU (x86_64)",
        "python": "3.11.7",
    }  # fmt: skip
    _text(run, f"{paths.PROVENANCE}/{rule}{f'/{name}' if name else ''}.json", json.dumps(made))
