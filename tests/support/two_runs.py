"""Small finished runs that are compared: two corpora, three captioners and their scores, trainings and tables."""

import contextlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml
from support.browser_run import CAPTIONERS, IMAGES_OF, image_row, write_captioner, write_corpus
from support.tiny_run import recorded_job

from captionlab.evaluation.metrics.nlg.metric import NLG
from captionlab.jobs.provenance import Job, working_on
from captionlab.storage import paths
from captionlab.storage.schemas import CAPTIONS, IMAGES, TRAINING
from captionlab.storage.tables import write_table

PAGE = paths.RESOURCES / "browser"
SEEDS = {"tuned": ["tuned", "tuned-2"]}
LEARNT = "train-texts"
VALIDITY = "condition,of,value,ci_low,ci_high,n,met\nnaming,tuned,0.9,0.8,1.0,12,True\nvariety,tuned,0.2,,,12,{met}\n"
CLAIM = "paper,claim,scope,verdict\ndiscritune,better,world,{verdict}\n"


def write_run(folder: Path, *, gain: float = 0.0, config: Mapping[str, Any] | None = None) -> Path:
    """Write a finished run and return its folder.

    `gain` is added to every CIDEr and to the rewards of the trainings. `config` changes keys of the config.
    """
    folder.mkdir(parents=True)
    with contextlib.chdir(folder):
        names = [*IMAGES_OF]
        captioners = CAPTIONERS | {"tuned-2": CAPTIONERS["tuned"]}
        scored = _write_inputs(captioners, gain)
        write_table(paths.nlg("main"), NLG, scored)
        _summarise(captioners, names)
        _build_browser(captioners, names)
        _train(gain)
        _write_tables(gain)
        settings = {
            "name": "small",
            "seed": 1,
            "corpora": {name: {"split": "test"} for name in names},
            **(config or {}),
        }
        Path(paths.CONFIG).write_text(yaml.safe_dump(settings))
    return folder


def _write_inputs(captioners: Mapping[str, Any], gain: float) -> list[dict[str, Any]]:
    """Write corpora, captions and ranks, and return the rows of NLG."""
    for name, images in IMAGES_OF.items():
        write_corpus(Path(), name, images)
    scored = [row for captioner in captioners for row in write_captioner(Path(), captioner)]
    write_table(paths.corpus("images", LEARNT), IMAGES, [image_row("t", 0, "train")])
    told = {"image_id": ["t"], "caption_index": [0], "caption": ["a dog on the road"]}
    write_table(paths.corpus("captions", LEARNT), CAPTIONS, told)
    return [{**row, "cider": row["cider"] + gain} for row in scored]


def _scores(captioners: Mapping[str, Any]) -> dict[str, list[str]]:
    return {
        "nlg": [paths.nlg("main")],
        "retrieval": [paths.evaluation("retrieval", captioner, "main") for captioner in captioners],
    }


def _summarise(captioners: Mapping[str, Any], corpora: list[str]) -> None:
    captions = [paths.captions(captioner, "main") for captioner in captioners]
    outputs = {name: paths.reporting(f"{name}.parquet") for name in ("summary", "comparisons")}
    context = {"main": {"decoding": "beam5", "splits": dict.fromkeys(corpora, "test")}}
    params: dict[str, Any] = {"factors": {}, "bounds": {}, "unreferenced": [], "ends": {}, "pairs": {}, "seed": 1}
    params["lineage"] = {name: {"parent": block["parent"]} for name, block in captioners.items()}
    versions = {"versions": {"numpy": "2"}, "code": "1"}
    inputs = {**_scores(captioners), "captions": captions}
    recorded_job(
        "summarise_evaluation", inputs, outputs, {}, evaluations=context, trainings=SEEDS, **params, **versions
    )
    tables = [paths.table(f"evaluation.{ending}") for ending in ("csv", "html", "md")]
    provenance = {"config": "small", "seed": 1, "versions": {}}
    recorded_job("collect_evaluation", outputs, {"tables": tables}, {}, humans=[], provenance=provenance)


def _build_browser(captioners: Mapping[str, Any], corpora: list[str]) -> None:
    block = {"captioners": list(captioners), "corpora": corpora, "decoding": "beam5", "candidates": 4, "seed": 0}
    tables = {"images": "images", "captions_of_corpora": "captions", "objects": "objects", "scenes": "scene_captions"}
    inputs = {
        **_scores(captioners),
        "captions": [paths.captions(captioner, "main") for captioner in captioners],
        "summary": paths.reporting("summary.parquet"),
        "comparisons": paths.reporting("comparisons.parquet"),
        "slices": [],
        "paper_values": [],
        "paper_differences": [],
        **{name: [paths.corpus(table, corpus) for corpus in corpora] for name, table in tables.items()},
        "training_images": [paths.corpus("images", LEARNT)],
        "training_captions": [paths.corpus("captions", LEARNT)],
        "page": [str(file) for file in sorted(PAGE.iterdir())],
    }
    shown = {"tables": ["nlg", "retrieval"], "evaluations": {"main": block}, "corpora": corpora}
    shown |= {
        "splits": dict.fromkeys(corpora, "test"),
        "captioners": captioners,
        "training": [LEARNT],
        "factors": {},
        "languages": {},
        "sliced": {},
        "papers": {},
    }
    about = {"config": "small", "seed": 1, "toy": False, "caveats": []}
    recorded_job("build_browser", inputs, [paths.BROWSER], {}, shown=shown, about=about)


def _train(gain: float) -> None:
    """Write the logs of two trainings that differ by their seed, and what a job of a training leaves."""
    for captioner in SEEDS["tuned"]:
        steps = range(1, 31)
        rows = [("reward", step, step / 30 + gain) for step in steps] + [("loss", step, 2e-6 / step) for step in steps]
        rows += [("validation_cider", step, 0.5 + step / 100 + gain) for step in (0, 15, 30)]
        log = [{"step": step, "epoch": 0, "statistic": name, "value": value} for name, step, value in rows]
        path = paths.captioner("training.parquet", captioner=captioner)
        write_table(path, TRAINING, log)
        params = {"config": {"optimizer": {"lr": 1e-3 + gain, "batch": 8}}, "code": "1"}
        job = Job(
            "finetune_captioner",
            paths.log(f"finetune_captioner/{captioner}"),
            {"captioner": captioner},
            params,
            [],
            [path],
        )
        with working_on(job):
            pass


def _write_tables(gain: float) -> None:
    """Write tables of validity and claims, of which a condition and a verdict depend on the gain."""
    Path(paths.table("validity.csv")).write_text(VALIDITY.format(met=gain == 0))
    Path(paths.table("claims.csv")).write_text(CLAIM.format(verdict="holds" if gain else "cannot tell"))
