"""Where everything lies below results/: each file of a run is named here and nowhere else.

Without arguments a function gives the pattern of a rule, with Snakemake's wildcards in it; with names, one file.
"""

from pathlib import Path

RESULTS = "results"
# Where the jobs of a run that make no table say what made their files.
PROVENANCE = f"{RESULTS}/provenance"
LOGS = f"{RESULTS}/logs"
TABLES = f"{RESULTS}/tables"
COST = f"{RESULTS}/cost.parquet"
SPICE_MODELS = f"{RESULTS}/spice/models"
LANGUAGE_MODEL = f"{RESULTS}/language/model.arpa"
ASSOCIATIONS = f"{RESULTS}/language/associations.parquet"
SIMULATED_RESPONSES = f"{RESULTS}/study/simulated/responses.csv"


def log(job: str) -> str:
    """The log of a job: the name of its rule, and its wildcards below."""
    return f"{LOGS}/{job}.log"


def benchmark(job: str) -> str:
    """What Snakemake measures of a job."""
    return f"{RESULTS}/benchmarks/{job}.tsv"


def provenance(job: str) -> str:
    """What made the files of a job that makes no table."""
    return f"{PROVENANCE}/{job}.json"


def stage_of(path: str) -> str | None:
    """The stage that a file is of, the first folder below results/, wherever that lies; None for a file elsewhere."""
    below = f"/{path}".rpartition(f"/{RESULTS}/")[2]
    return below.split("/")[0] if below != f"/{path}" else None


def captioner_of(path: str) -> tuple[str, str]:
    """Captioner and evaluation of a table of captions, scores or language, wherever results/ lies."""
    *_, stage, first, second, last = Path(path).with_suffix("").parts
    return (first, second) if stage in ("evaluation", "language") else (second, last)


def owner_of(path: str) -> str:
    """The corpus, scorer or group of participants that a table is about."""
    return Path(path).parts[-2]


def embedded_in(path: str) -> tuple[str, str]:
    """Encoder and corpus of a shard of embeddings."""
    *_, encoder, corpus, _ = Path(path).parts
    return encoder, corpus


def job_of(log: str) -> str:
    """The job that a log is of, below the name of its rule."""
    return "/".join(Path(log).with_suffix("").parts[3:])


def state(rule: str, name: str) -> str:
    """Folder of the checkpoints of a training."""
    return f"{RESULTS}/state/{rule}/{name}"


def corpus(table: str, corpus: str = "{corpus}") -> str:
    """A table of a corpus: images, captions, objects, scenes or rejects."""
    return f"{RESULTS}/corpora/{corpus}/{table}.parquet"


def encoder(file: str, encoder: str = "{encoder}") -> str:
    """A file of an encoder."""
    return f"{RESULTS}/encoders/{encoder}/{file}"


def features(encoder: str = "{encoder}", corpus: str = "{corpus}", shard: str = "{shard}") -> str:
    """A shard of the embeddings of the images of a corpus."""
    return f"{RESULTS}/features/{encoder}/{corpus}/{shard}.parquet"


def neighbours(encoder: str = "{encoder}", corpus: str = "{corpus}", neighbours: str | int = "{neighbours}") -> str:
    """So many neighbours of each image of a corpus."""
    return f"{RESULTS}/neighbours/{encoder}/{corpus}/{neighbours}.parquet"


def regions(regions: str = "{regions}", corpus: str = "{corpus}", shard: str = "{shard}") -> str:
    """A shard of the regions of the images of a corpus."""
    return f"{RESULTS}/regions/{regions}/{corpus}/{shard}.parquet"


def tags(tags: str = "{tags}", corpus: str = "{corpus}") -> str:
    """The tags of the images of a corpus."""
    return f"{RESULTS}/tags/{tags}/{corpus}/tags.parquet"


def reward_model(kind: str, name: str) -> str:
    """Folder of one of the `encoders` or `scorers`."""
    return f"{RESULTS}/{kind}/{name}"


def scorer(file: str, scorer: str = "{scorer}") -> str:
    """A file of a scorer."""
    return f"{RESULTS}/scorers/{scorer}/{file}"


def captioner(file: str, captioner: str = "{captioner}") -> str:
    """A file of a captioner."""
    return f"{RESULTS}/captioners/{captioner}/{file}"


def captions(captioner: str = "{captioner}", evaluation: str = "{evaluation}", shard: str | None = None) -> str:
    """The captions of a captioner for an evaluation, or a shard of them."""
    part = f"/{shard}" if shard else ""
    return f"{RESULTS}/captions/{captioner}/{evaluation}{part}.parquet"


def references(corpus: str = "{corpus}") -> str:
    """The tokenised references of a corpus."""
    return f"{RESULTS}/evaluation/references/{corpus}.parquet"


def paraphrases(table: str) -> str:
    """A table of METEOR's paraphrases: phrases or paraphrases."""
    return f"{RESULTS}/paraphrases/{table}.parquet"


def parses(corpus: str = "{corpus}") -> str:
    """The parsed references of a corpus, for SPICE."""
    return f"{RESULTS}/spice/parses/{corpus}.parquet"


def evaluation(table: str, captioner: str = "{captioner}", evaluation: str = "{evaluation}") -> str:
    """A table of scores of the captions of a captioner: tokens, nlg, retrieval, spice or alignment."""
    return f"{RESULTS}/evaluation/{captioner}/{evaluation}/{table}.parquet"


def language(table: str, captioner: str = "{captioner}", evaluation: str = "{evaluation}") -> str:
    """A table on the language of the captions of a captioner."""
    return f"{RESULTS}/language/{captioner}/{evaluation}/{table}.parquet"


def of_captioner(stage: str, table: str, captioner: str = "{captioner}") -> str:
    """A table of the stages attention, ablation or probes about a captioner."""
    return f"{RESULTS}/{stage}/{captioner}/{table}.parquet"


def attention(table: str) -> str:
    """A table of the stage of attention about both captioners."""
    return f"{RESULTS}/attention/{table}.parquet"


def ablation(table: str) -> str:
    """A table of the stage of ablation about both captioners."""
    return f"{RESULTS}/ablation/{table}.parquet"


def study(file: str) -> str:
    """A file or folder of the study."""
    return f"{RESULTS}/study/{file}"


def answers(table: str, participants: str = "{participants}") -> str:
    """A table on the answers of people or of simulated participants."""
    return f"{RESULTS}/study/{participants}/{table}.parquet"


def reporting(name: str) -> str:
    """A file of the stage of reporting: what tables are made of, and each table of the run before it is collected."""
    return f"{RESULTS}/reporting/{name}"


def figure(name: str) -> str:
    """A figure."""
    return f"{RESULTS}/figures/{name}.png"
