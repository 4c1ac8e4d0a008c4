"""Sets of judged captions as captioners, corpora and evaluations of a config.

Each set becomes a captioner that gives the judged captions, a corpus with the judged images, and an evaluation of this
captioner on this corpus, all with the name of the set. So every metric of an evaluation can score judged captions.
"""

from collections.abc import Iterator

from captionlab.config.blocks import JUDGED, Block, has_captions
from captionlab.config.families import score_tables

# Sections in which a set has a block of its own.
SECTIONS = ("corpora", "captioners", "evaluations")


def judgement_mistakes(config: Block) -> Iterator[str]:
    """Yield one sentence for each set of judgements whose name a captioner, corpus or evaluation has already."""
    for name in config["judgements"]:
        for section in (section for section in SECTIONS if name in config[section]):
            yield f"judgements.{name} also makes {section}.{name}, which is there already; rename one of the blocks"


def with_judgements(config: Block) -> Block:
    """Return a checked config with the captioner, the corpus and the evaluation of each set of judgements."""
    metrics = [key for table in score_tables().values() for key in table.asks]
    whole = {**config, **{section: dict(config[section]) for section in (*SECTIONS, "regions", "tags")}}
    for name, block in config["judgements"].items():
        corpus = config["corpora"][block["corpus"]]
        same = {key: corpus[key] for key in ("shards", "language", "tokenizer") if key in corpus}
        whole["corpora"][name] = {"reader": JUDGED, "evaluation_split": JUDGED, **same}
        if not has_captions(corpus):
            whole["corpora"][name]["captions"] = None
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
