"""A run in miniature, made by scripts of rules: drawings of the toy world, captioned by a shipped model and people."""

import contextlib
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from support.running import Files, run_script

from captionlab.config.evaluations import read_decoding
from captionlab.corpora.tables import TABLES
from captionlab.generation.captions import evaluated_images, reference_rows
from captionlab.jobs.provenance import Job, working_on
from captionlab.storage import paths
from captionlab.storage.schemas import GENERATED
from captionlab.storage.tables import write_table

MODELS = paths.RESOURCES / "toyworld" / "models"
CORPUS, ENCODER, CAPTIONER, EVALUATION, OTHER = "drawings", "clip", "clipcap", "main", "sampled"
DECODINGS: dict[str, dict[str, Any]] = {
    EVALUATION: {"kind": "beam", "beams": 3, "max_tokens": 20, "stop": "."},
    OTHER: {"kind": "sample", "temperature": 1.0, "max_tokens": 20, "samples": 2},
}
TEST_IMAGES = 8


def write_run(folder: Path) -> None:
    """Write results of a model and of people for an evaluation, and samples of the model for another one."""
    folder.mkdir(parents=True, exist_ok=True)
    with contextlib.chdir(folder):
        recorded_job(
            "render_toyworld",
            [],
            {table: paths.corpus(table, CORPUS) for table in TABLES},
            {"corpus": CORPUS},
            config={"domain": "coco", "seed": 1, "images": {"train": 4, "test": TEST_IMAGES}},
        )
        shutil.copytree(MODELS / "toy-clip-a", Path(paths.encoder("config.json", encoder=ENCODER)).parent)
        shutil.copytree(MODELS / "toy-clipcap-coco", Path(paths.captioner("config.json", captioner=CAPTIONER)).parent)
        _embed()
        for evaluation in DECODINGS:
            _caption(evaluation)
        images, references = (paths.corpus(table, CORPUS) for table in ("images", "captions"))
        people = reference_rows(references, evaluated_images(images, CORPUS, "test"), CORPUS, each=False)
        Path(paths.captions("human", EVALUATION)).parent.mkdir(parents=True)
        write_table(paths.captions("human", EVALUATION), GENERATED, people)
        for captioner in (CAPTIONER, "human"):
            _retrieve(captioner)
        _summarise()


def recorded_job(rule: str, inputs: Files, outputs: Files, wildcards: Mapping[str, str], **params: Any) -> None:
    """Run the script of a rule, and record its provenance as a job of Snakemake does."""
    read, made = _flat(inputs), _flat(outputs)
    log = paths.log("/".join([rule, *wildcards.values()]))
    for path in made:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
    with working_on(Job(rule, log, wildcards, params, read, made)):
        run_script(rule, inputs, outputs, wildcards=wildcards, **params)


def _flat(files: Files) -> list[str]:
    groups = files.values() if isinstance(files, Mapping) else files
    return [str(path) for group in groups for path in (group if isinstance(group, list) else [group])]


def _features() -> str:
    return paths.features(ENCODER, CORPUS, "0-of-1")


def _embed() -> None:
    config, weights = (paths.encoder(name, encoder=ENCODER) for name in ("config.json", "model.safetensors"))
    inputs = {"images": paths.corpus("images", CORPUS), "config": config, "weights": weights}
    wildcards = {"encoder": ENCODER, "corpus": CORPUS, "shard": "0-of-1"}
    recorded_job("embed_images", inputs, [_features()], wildcards, patches=False, split=None)


def _caption(evaluation: str) -> None:
    files = {"config": "config.json", "weights": "model.safetensors", "tokenizer": "tokenizer.json"}
    inputs: dict[str, Any] = {name: paths.captioner(file, captioner=CAPTIONER) for name, file in files.items()}
    inputs |= {"images": [paths.corpus("images", CORPUS)], "described": [], "features": [_features()]}
    params = {"corpora": [CORPUS], "splits": ["test"], "seed": 3, "shard": "0-of-1"}
    decoding = read_decoding(DECODINGS[evaluation]).model_dump(exclude_none=True)
    wildcards = {"captioner": CAPTIONER, "evaluation": evaluation}
    recorded_job("generate_captions", inputs, [paths.captions(**wildcards)], wildcards, decoding=decoding, **params)


def _retrieve(captioner: str) -> None:
    inputs = {
        "captions": paths.captions(captioner, EVALUATION),
        "images": [paths.corpus("images", CORPUS)],
        "configs": [paths.encoder("config.json", encoder=ENCODER)],
        "features": [_features()],
        "bag_features": [],
    }
    params: dict[str, Any] = {"config": {"candidate_sets": "random", "candidates": 4}, "corpora": [CORPUS], "seed": 3}
    wildcards = {"captioner": captioner, "evaluation": EVALUATION}
    output = [paths.evaluation("retrieval", captioner, EVALUATION)]
    recorded_job("retrieve_images", inputs, output, wildcards, splits=["test"], retrievers=[ENCODER], **params)


def _summarise() -> None:
    captioners = [CAPTIONER, "human"]
    inputs = {
        "captions": [paths.captions(captioner, EVALUATION) for captioner in captioners],
        "retrieval": [paths.evaluation("retrieval", captioner, EVALUATION) for captioner in captioners],
    }
    outputs = {name: paths.reporting(f"{name}.parquet") for name in ("summary", "comparisons")}
    context = {EVALUATION: {"decoding": "beam3", "splits": {CORPUS: "test"}}}
    others: dict[str, Any] = {"factors": {}, "bounds": {}, "unreferenced": [], "ends": {}}
    # People as the parent, so that there is a comparison.
    others["lineage"] = {CAPTIONER: {"parent": "human"}, "human": {"parent": None}}
    recorded_job(
        "summarise_evaluation", inputs, outputs, {}, evaluations=context, seed=1, trainings={}, pairs={}, **others
    )
    tables = [paths.table(f"evaluation.{ending}") for ending in ("csv", "html", "md")]
    provenance = {"config": "tiny", "seed": 1, "versions": {}}
    recorded_job("collect_evaluation", outputs, {"tables": tables}, {}, humans=["human"], provenance=provenance)
