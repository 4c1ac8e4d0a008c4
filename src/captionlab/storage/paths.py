"""Paths below results/ that library code and tests name; rules write them out (workflow/rules/)."""

import os
from pathlib import Path
from string import Formatter

from captionlab.installation import PROJECT

RESULTS = "results"
# Folder of the provenance of a run's files.
PROVENANCE = f"{RESULTS}/provenance"
LOGS = f"{RESULTS}/logs"
TRACKING = f"{RESULTS}/tracking"
TABLES = f"{RESULTS}/tables"
ANSWER = f"{RESULTS}/index.html"  # the first page of a run
CONFIG = f"{RESULTS}/config.yaml"  # the whole config of the run that was started last in this folder
PICTURES = "pictures"  # folder, beside LaTeX tables, of the pictures in them
BROWSER = f"{RESULTS}/browser"
COST = f"{RESULTS}/cost.parquet"
RETRIEVED = f"{RESULTS}/retrieved"
SPICE_MODELS = f"{RESULTS}/spice/models"
ASSOCIATIONS = f"{RESULTS}/language/associations.parquet"
CARD = "README.md"  # model card, beside the weights, where hubs look for it
# Files that come with the workflow and are not part of a run.
RESOURCES = PROJECT / "resources"
# Lists of categories of objects among the resources, by their names in a config.
CATEGORIES = {"coco": "resources/categories/coco.yaml", "toyworld": "resources/toyworld/objects.yaml"}
TOYWORLD = "resources/toyworld"  # what drawings and models of the toy world are made from
# Folder of the models of the toy world that come with the workflow; each model has a folder.
MODELS = f"{TOYWORLD}/models"


class _Files:
    """Files of one kind. Calling it with names returns a file; a missing name stays a wildcard of Snakemake."""

    def __init__(self, pattern: str, *required: str):
        """Take the path below results/. Names are ordered: `required` first, then the others as in the pattern."""
        self.pattern, self.required = f"{RESULTS}/{pattern}", required
        fields = [name for _, name, _, _ in Formatter().parse(pattern) if name]
        self.names = [*required, *(name for name in fields if name not in required)]

    def __call__(self, *given: str | int, **named: str | int) -> str:
        names = dict(zip(self.names, given, strict=False)) | named
        if len(given) > len(self.names) or not {*self.required} <= names.keys() <= {*self.names}:
            raise TypeError(f"{self.pattern} takes {', '.join(self.names)}, not {[*given, *named]}")
        return self.pattern.format_map({name: f"{{{name}}}" for name in self.names} | names)


# Log, cost and provenance of a job, which is named by its rule, followed by its wildcards.
log = _Files("logs/{job}.log", "job")
provenance = _Files("provenance/{job}.json", "job")
state = _Files("state/{rule}/{name}", "rule", "name")  # folder of the checkpoints of a training
tracking = _Files("tracking/{rule}/{name}", "rule", "name")  # folder of the curves of a training

corpus = _Files("corpora/{corpus}/{table}.parquet", "table")  # images, captions, objects, scene_captions or rejects
encoder = _Files("encoders/{encoder}/{file}", "file")
features = _Files("features/{encoder}/{corpus}/{shard}.parquet")
neighbours = _Files("neighbours/{encoder}/{corpus}/{neighbours}.parquet")  # `neighbours`: how many of each image
regions = _Files("regions/{regions}/{corpus}/{shard}.parquet")
tags = _Files("tags/{tags}/{corpus}/tags.parquet")
questions = _Files("questions/{questions}/{corpus}.parquet")
reward_model = _Files("{kind}/{name}", "kind", "name")  # folder; kind: encoders or scorers
scorer = _Files("scorers/{scorer}/{file}", "file")
captioner = _Files("captioners/{captioner}/{file}", "file")
export = _Files("exports/{captioner}")  # folder of a captioner in the layout of other libraries
model = _Files("{kind}/{name}/{file}", "file")  # kind: captioners, encoders or scorers
evaluation = _Files("evaluation/{captioner}/{evaluation}/{table}.parquet", "table")  # tokens, or scores of captions
nlg = _Files("evaluation/nlg/{evaluation}.parquet")  # scores of captions against references, all captioners together
language = _Files("language/{captioner}/{evaluation}/{table}.parquet", "table")
of_captioner = _Files("{stage}/{captioner}/{table}.parquet", "stage", "table")  # stages attention, ablation, probes
ablation = _Files("ablation/{table}.parquet", "table")  # about both captioners
study = _Files("study/{file}", "file")
answers = _Files("study/{participants}/{table}.parquet", "table")  # of people or of simulated participants
# Tables of a set of judged captions: candidates, ratings, preferences, correlations or differences.
judgements = _Files("judgements/{judgements}/{table}.parquet", "table")
reporting = _Files("reporting/{name}", "name")  # inputs of tables, and each table before it is collected
table = _Files("tables/{table}")  # a file of a table
browser = _Files("browser/{file}")  # a file of the page that shows captions


def captions(captioner: str = "{captioner}", evaluation: str = "{evaluation}", shard: str | None = None) -> str:
    """Return the captions of a captioner for an evaluation, or a shard of the captions."""
    part = f"/{shard}" if shard else ""
    return f"{RESULTS}/captions/{captioner}/{evaluation}{part}.parquet"


def scores(table: str, captioner: str, evaluation_name: str) -> str:
    """Return the table of scores, by its name, that has the captions of a captioner for an evaluation."""
    return nlg(evaluation_name) if table == "nlg" else evaluation(table, captioner, evaluation_name)


def stage_of(path: str) -> str | None:
    """Return the stage of a file: the first folder below results/, wherever results/ lies; None for other files."""
    below = f"/{path}".rpartition(f"/{RESULTS}/")[2]
    return below.split("/")[0] if below != f"/{path}" else None


def in_results(path: str | os.PathLike[str]) -> str:
    """Return a relative path from results/ on, wherever results/ lies; other paths are returned as they are."""
    below = f"/{path}".rpartition(f"/{RESULTS}/")
    return f"{RESULTS}/{below[2]}" if below[1] else str(path)


def results_of(log: str | os.PathLike[str]) -> Path:
    """Return the folder results/, wherever it lies, from the log of a job."""
    return next(folder for folder in Path(log).parents if folder.parts[-2:] == Path(LOGS).parts).parent


def beside_log(log: str | os.PathLike[str], folder: str, ending: str) -> Path:
    """Return a file about a job, results/{folder}/{rule}/{job}{ending}, from its log results/logs/{rule}/{job}.log."""
    results = results_of(log)
    return results / folder / Path(log).relative_to(results / Path(LOGS).name).with_suffix(ending)


def captioner_of(path: str) -> tuple[str, str]:
    """Return captioner and evaluation of a table of captions, scores or language, wherever results/ lies."""
    *_, stage, first, second, last = Path(path).with_suffix("").parts
    return (first, second) if stage in ("evaluation", "language") else (second, last)


def owner_of(path: str) -> str:
    """Return the corpus, scorer or group of participants that a table is about."""
    return Path(path).parts[-2]


def embedded_in(path: str) -> tuple[str, str]:
    """Return encoder and corpus of a shard of embeddings."""
    *_, encoder, corpus, _ = Path(path).parts
    return encoder, corpus


def job_of(log: str) -> str:
    """Return the job of a log, without the name of its rule."""
    return "/".join(Path(log).with_suffix("").relative_to(results_of(log)).parts[2:])
