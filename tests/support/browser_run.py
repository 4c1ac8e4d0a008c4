"""A small run for the tests of the results browser: two corpora, three captioners, and captions that mean harm."""

# ruff: noqa: RUF001 (a caption is in Hebrew)

from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image
from support import paper_summary
from support.running import run_script

from captionlab.evaluation.metrics.judge.metric import SCORES
from captionlab.evaluation.metrics.nlg.metric import NLG
from captionlab.evaluation.schemas import ROLE_DIFFERENCES, ROLE_VALUES, SLICED_IMAGES
from captionlab.jobs.provenance import Job, working_on
from captionlab.storage import paths
from captionlab.storage.schemas import CAPTIONS, COMPARISONS, GENERATED, IMAGES, OBJECTS, RETRIEVAL, SCENE_CAPTIONS
from captionlab.storage.tables import write_table

IMAGES_OF = {"world": 12, "texts": 3}
HOSTILE = [
    "<img src=x onerror=document.title='harm'>",
    "</script><script>document.title='harm'</script>",
    "she said \"it's\" & 'that'",
    "\u202eשלום עולם\u202c a dog",
    "a 🐕\u200d🦺 and \U0001f469\U0001f3fd",
    "two\u2028lines\u2029here",
    '=HYPERLINK("http://harm")',
    "a zebra UNK on a road",
]
CAPTIONERS = {
    "parent": {"parent": None, "family": "clipcap", "trained": ["train-texts"]},
    "tuned": {"parent": "parent", "family": "clipcap", "trained": ["train-texts"]},
    "foreign": {"parent": None, "family": "file", "trained": []},
}
# Who says the captions of a paper's roles, and what its numbers are that are no metrics.
SPOKEN = {
    "evaluation": "main",
    "first": {"CE": "parent", "CLIP": "tuned"},
    "scorers": {},
    "analyses": {
        "words of *": {"sentence": "Mean number of words.", "unit": "per caption", "computation": "mean"},
        "pattern": {"sentence": "How many captions have it.", "unit": "per cent", "computation": "apart"},
    },
}
KNOWN = "a dog and a cat on the road with two birds lines here she said it s that"


def image_id(number: int) -> str:
    return f"img/{number} <b>"


def text_of(captioner: str, number: int) -> str:
    """What a captioner says of an image of the world."""
    if captioner == "foreign":
        return HOSTILE[number % len(HOSTILE)]
    return "a dog on the road" if number % 3 else f"a cat and {'two birds' if captioner == 'tuned' else 'a dog'}"


def rank_of(captioner: str, number: int) -> int:
    """The rank among four consecutive images."""
    return 1 + (number + len(captioner)) % 4


def chosen_by(captioner: str, number: int) -> int:
    """The image that is found: the right one at rank 1, else another of its block."""
    return number if rank_of(captioner, number) == 1 else number // 4 * 4 + (number + 1) % 4


def cider_of(captioner: str, number: int) -> float:
    return (number * 7 + len(captioner)) % 11 / 10


def bleu_counts_of(captioner: str, number: int) -> list[int]:
    """Counts of BLEU of a caption, which give the corpus another BLEU than the mean of its captions, 50."""
    matches = 1 + (number + len(captioner)) % 5
    return [5, 6, 5, 4, 3, 2, matches, min(matches, 4), min(matches, 3), min(matches, 2)]


def image_row(name: str, position: int, split: str = "test", path: Path | None = None) -> dict[str, Any]:
    """A row of IMAGES."""
    missing = dict.fromkeys(("offset", "length", "data", "image_set"))
    place = {"position": position, "split": split, "path": path and str(path)}
    return {**missing, "image_id": name, **place, "width": 400, "height": 200}


def write_corpus(folder: Path, corpus: str, images: int) -> None:
    """The tables of a corpus; `world` has files, of which that of image 5 is broken, `texts` has none."""
    rows, texts, objects, scenes = [image_row("other split", images, "train")], [], [], []
    box = dict.fromkeys(("x1", "y1", "x2", "y2"), 0.0)
    for number in range(images):
        name = image_id(number)
        rows.append(image_row(name, number, path=folder / f"{number}.png" if corpus == "world" else None))
        if corpus != "world":
            continue
        Image.fromarray(np.full((200, 400, 3), 20 * number, dtype=np.uint8)).save(rows[-1]["path"])
        for index, label in enumerate(("dog", "cat") if number % 2 else ("dog",)):
            objects.append({"image_id": name, "object_index": index, "label": label, **box, "attributes": []})
        scene = {"caption": "on a road", "scene": "road" if number < 6 else None, "confidence": None}
        scenes.append({"image_id": name, "scene_index": 0, **scene})
        texts += [{"image_id": name, "caption_index": i, "caption": f"reference {i} of {number}"} for i in range(2)]
    if corpus == "world":
        (folder / "5.png").write_bytes((folder / "5.png").read_bytes()[:60])
    write_table(folder / paths.corpus("images", corpus), IMAGES, rows)
    write_table(folder / paths.corpus("captions", corpus), CAPTIONS, texts)
    write_table(folder / paths.corpus("objects", corpus), OBJECTS, objects)
    write_table(folder / paths.corpus("scene_captions", corpus), SCENE_CAPTIONS, scenes)


def write_captioner(folder: Path, captioner: str) -> list[dict[str, Any]]:
    """Write captions and ranks of a captioner, and return its rows of CIDEr."""
    said, scored, ranks = [], [], []
    other = {
        name: [0] * column.type.list_size if hasattr(column.type, "list_size") else 0.5
        for name, column in NLG.columns.items()
    }
    for corpus, images in IMAGES_OF.items():
        for number in range(images):
            key = {"corpus": corpus, "image_id": image_id(number), "caption_index": 0}
            said.append({**key, "caption": text_of(captioner, number), "log_prob": None, "confidence": None})
            if corpus == "world":
                counts = bleu_counts_of(captioner, number)
                scores = {"captioner": captioner, "cider": cider_of(captioner, number), "bleu_counts": counts}
                scored.append({**other, **key, **scores})
                found = {"rank": rank_of(captioner, number), "chosen": image_id(chosen_by(captioner, number))}
                ranks.append({**key, "retriever": "clip", "protocol": "file-order", "candidates": 4, **found})
    write_table(folder / paths.captions(captioner, "main"), GENERATED, said)
    write_table(folder / paths.evaluation("retrieval", captioner, "main"), RETRIEVAL, ranks)
    return scored


def reason_of(number: int) -> str:
    """What a judge says of a caption of the foreign captioner, the first of which it does not answer about."""
    return f"{HOSTILE[number % len(HOSTILE)]} is {number}"


def write_judge(folder: Path) -> Path:
    """Write the scores of a judge, of the foreign captioner alone."""
    rows = []
    for number in range(IMAGES_OF["world"]):
        key = {"corpus": "world", "image_id": image_id(number), "caption_index": 0, "judge": "clair"}
        said = {"score": number / 20 or None, "reason": reason_of(number) if number else None}
        rows.append({**key, **said, "smoothed": False, "questions": 1, "fault": None if number else "no answer"})
    path = folder / paths.evaluation("judge-clair", "foreign", "main")
    write_table(path, SCORES, rows)
    return path


def write_comparisons(folder: Path) -> Path:
    """Write differences of the finetuned captioner from its parent, by CIDEr and P@1, and of its mean over seeds."""
    row = {"captioner": "tuned", "against": "parent", "corpus": "world", "evaluation": "main", "decoding": "beam5"}
    row |= {"split": "test", "device": "", "p_value": 0.01, "p_holm": 0.02, "test": "paired bootstrap", "n": 12}
    numbers = {"difference": 1.5, "ci_low": 0.5, "ci_high": 2.5, "seeds": 1}
    cider = {**row, **numbers, "metric": "CIDEr", "retriever": None, "candidates": None}
    first = {**row, **numbers, "metric": "P@1", "retriever": "clip", "candidates": "4 file-order", "p_holm": 0.0004}
    path = folder / "comparisons.parquet"
    write_table(path, COMPARISONS, [cider, first, {**cider, "seeds": 2, "p_value": None, "p_holm": None, "test": None}])
    return path


def write_slices(folder: Path) -> Path:
    """Write the weather in images of the world, of the first one none, and a scene, which is no column of the user."""
    rows = [
        {
            "corpus": "world",
            "by": "weather",
            "slice": "rain: heavy" if number < 4 else "sun",
            "image_id": image_id(number),
        }
        for number in range(1, IMAGES_OF["world"])
    ]
    path = folder / "slices" / "main.parquet"
    write_table(path, SLICED_IMAGES, [*rows, {**rows[0], "by": "scene", "slice": "road"}])
    return path


def write_paper(folder: Path) -> dict[str, list[Path]]:
    """Write the numbers of two roles in a paper, with their provenance, as its rule does. Return the files."""
    captions = [folder / paths.captions(captioner, "main") for captioner in SPOKEN["first"].values()]
    files = {name: folder / paths.reporting(f"probing/{name}.parquet") for name in ("values", "differences")}
    params = {"module": "support.paper_summary", "roles": list(SPOKEN["first"])}
    named = {"captions": [str(path) for path in captions]}
    log, inputs, outputs = folder / "results/logs/summarise_probing.log", named["captions"], [*map(str, files.values())]
    values, differences, _ = paper_summary.summarise(named, params)
    with working_on(Job("summarise_probing", str(log), {}, params, inputs, outputs, named)):
        write_table(files["values"], ROLE_VALUES, values)
        write_table(files["differences"], ROLE_DIFFERENCES, differences)
    return {f"paper_{name}": [path] for name, path in files.items()}


def summarise(folder: Path, captions: list[Path], scores: dict[str, list[Path]]) -> None:
    """Write the summary of this run, and comparisons, as the workflow does, with their provenance."""
    outputs = {name: folder / paths.reporting(f"{name}.parquet") for name in ("summary", "comparisons")}
    params = {
        "evaluations": {"main": {"decoding": "beam5", "splits": dict.fromkeys(IMAGES_OF, "test")}},
        "unreferenced": [],
        "lineage": {name: {"parent": block["parent"]} for name, block in CAPTIONERS.items()},
        "factors": {"judges.clair": 100.0},
        "bounds": {"judges.clair": (0.0, 100.0)},
        "ends": {},
        "pairs": {"main": [["foreign", "parent"]]},
        "trainings": {"tuned": ["tuned", "foreign"]},
        "seed": 0,
    }
    inputs = [str(path) for path in [*captions, *(path for files in scores.values() for path in files)]]
    log, rule = str(folder / paths.log("summarise_evaluation")), "summarise_evaluation"
    for path in outputs.values():
        path.parent.mkdir(parents=True, exist_ok=True)
    with working_on(Job(rule, log, {}, params, inputs, [str(path) for path in outputs.values()])):
        run_script(rule, {**scores, "captions": captions}, outputs, **params)


def build(folder: Path, page: Path, *, compared: bool = False) -> Path:
    """The browser of this run, below a folder; with `compared`, the comparisons are computed, else they are made up."""
    folder.mkdir(exist_ok=True)
    for corpus, images in IMAGES_OF.items():
        write_corpus(folder, corpus, images)
    scored = [row for captioner in CAPTIONERS for row in write_captioner(folder, captioner)]
    write_table(folder / paths.nlg("main"), NLG, scored)
    learnt = {table: folder / paths.corpus(table, "train-texts") for table in ("images", "captions")}
    write_table(learnt["images"], IMAGES, [image_row("t", 0, "train"), image_row("v", 1, "val")])
    told = {"image_id": ["t", "v"], "caption_index": [0, 0], "caption": [KNOWN, "zebra"]}
    write_table(learnt["captions"], CAPTIONS, told)
    of_corpora = {
        "images": "images",
        "captions_of_corpora": "captions",
        "objects": "objects",
        "scenes": "scene_captions",
    }
    place = {
        "captioners": list(CAPTIONERS),
        "corpora": list(IMAGES_OF),
        "decoding": "beam5",
        "candidates": 4,
        "seed": 0,
    }
    captions = [folder / paths.captions(one, "main") for one in CAPTIONERS]
    scores = {
        "nlg": [folder / paths.nlg("main")],
        "retrieval": [folder / paths.evaluation("retrieval", one, "main") for one in CAPTIONERS],
        "judge": [write_judge(folder)],
    }
    summarise(folder, captions, scores)
    run_script(
        "build_browser",
        {
            "captions": captions,
            **scores,
            "summary": folder / paths.reporting("summary.parquet"),
            "comparisons": folder / paths.reporting("comparisons.parquet") if compared else write_comparisons(folder),
            **{name: [folder / paths.corpus(t, corpus) for corpus in IMAGES_OF] for name, t in of_corpora.items()},
            **{f"training_{table}": [path] for table, path in learnt.items()},
            "slices": [write_slices(folder)],
            **write_paper(folder),
            "page": sorted(page.iterdir()),
        },
        [folder / paths.BROWSER],
        threads=2,
        shown={
            "tables": list(scores),
            "evaluations": {"main": place},
            "corpora": list(IMAGES_OF),
            "splits": dict.fromkeys(IMAGES_OF, "test"),
            "captioners": CAPTIONERS,
            "training": ["train-texts"],
            "languages": {"texts": "ja"},
            "sliced": {"main": ["weather"]},
            "papers": {"probing": SPOKEN},
            "factors": {"judges.clair": 100.0},
        },
        about={"config": "made-up", "seed": 1, "toy": False, "caveats": []},
    )
    return folder / paths.BROWSER
