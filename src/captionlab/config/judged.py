"""Captions that people judged: sets of a config as captioners, corpora and evaluations, and what their jobs read.

Each set is spelled out as a captioner that gives its candidates, a corpus that has the judged images alone, and an
evaluation of the one on the other, all by the name of the set. So every metric of an evaluation can be had of them.
"""

from collections.abc import Iterator

from captionlab.config.blocks import JUDGED, Block
from captionlab.config.families import score_tables

# Sections in which a set has a block of its own.
SECTIONS = ("corpora", "captioners", "evaluations")


def judgement_mistakes(config: Block) -> Iterator[str]:
    """One sentence for each set whose name is taken."""
    for name in config["judgements"]:
        for section in (section for section in SECTIONS if name in config[section]):
            yield f"judgements.{name} is to be one of the {section}, which have a {name!r} already; rename one of them"


def with_judgements(config: Block) -> Block:
    """A config that was checked, and beside it what each set stands for."""
    metrics = [key for table in score_tables().values() for key in table.asks]
    whole = {**config, **{section: dict(config[section]) for section in (*SECTIONS, "regions", "tags")}}
    for name, block in config["judgements"].items():
        corpus = config["corpora"][block["corpus"]]
        whole["corpora"][name] = {"reader": JUDGED, "evaluation_split": JUDGED, "shards": corpus["shards"]}
        whole["captioners"][name] = {"family": JUDGED}
        asked = {key: block[key] for key in metrics if key in block}
        whole["evaluations"][name] = {**asked, "captioners": [name], "corpora": [name], "retrievers": [], "shards": 1}
        for section in ("regions", "tags"):
            whole[section] |= {
                source: {**of, "files": {**of["files"], name: of["files"][block["corpus"]]}}
                for source, of in whole[section].items()
                if block["corpus"] in of.get("files", {})
            }
    return whole
