"""Images that trainings and evaluations of a config need, by corpus and split."""

from collections.abc import Iterator
from dataclasses import dataclass

from captionlab.config.blocks import JUDGED, Block, model_kind
from captionlab.config.families import judgement_readers


@dataclass(frozen=True)
class Need:
    """Images that a block of a config needs, and the keys that say so.

    `block` is the place of the block in the config, `what` the part of it that needs `images` images of a split. With
    `or_sets`, a split of look-alike sets will do with fewer, because its sets are the candidates.
    """

    block: str
    what: str
    corpus: str
    split: str
    images: int
    split_key: str = ""  # empty for the split `train`, which no key names
    number_key: str = ""  # empty if any number above 0 will do
    or_sets: bool = False


def image_needs(config: Block) -> Iterator[Need]:
    """Yield what the trainings, evaluations and analyses of a checked config need.

    Sets of judgements of people need no split: the images that people judged are taken, whatever their split.
    """
    for section in ("encoders", "scorers"):
        for name, block in config[section].items():
            if model_kind(block) == "trained":
                yield _training_need(f"{section}.{name}", block)
    for name, block in config["captioners"].items():
        if "objective" in block and "snapshot" not in block:
            where = f"captioners.{name}"
            yield _training_need(where, block)
            if "validation" in block:
                split = block["validation"]["split"]
                yield Need(where, "validation", block["corpus"], split, 1, f"{where}.validation.split")
    for name, block in config["evaluations"].items():
        where = f"evaluations.{name}"
        number, what, key = 1, "it", ""
        if block["retrievers"]:
            number, what, key = block["candidates"], "a set of candidates", f"{where}.candidates"
            if (largest := max((block.get("bags") or {}).get("sizes", [0]))) > number:
                number, what, key = largest, "a bag", f"{where}.bags.sizes"
        for corpus in block["corpora"]:
            split = config["corpora"][corpus]["evaluation_split"]
            if split != JUDGED:
                yield Need(where, what, corpus, split, number, f"corpora.{corpus}.evaluation_split", key, bool(key))
    for name, block in config["judgements"].items():
        if judgement_readers()[block["reader"]].simulated:
            yield Need(f"judgements.{name}", "a judge", block["corpus"], block["split"], 2, f"judgements.{name}.split")
    yield from _analysis_needs(config)


def _training_need(where: str, block: Block) -> Need:
    batch = block["optimizer"]["batch"]
    return Need(where, "a batch", block["corpus"], "train", batch, number_key=f"{where}.optimizer.batch")


def _analysis_needs(config: Block) -> Iterator[Need]:
    """Yield the splits that the analysis of scenes needs, if only the files of its corpus tell which there are."""
    scenes = config.get("scene_analysis") or {}
    corpus = config["corpora"].get(scenes.get("corpus"))
    for split in scenes.get("splits", []) if corpus and not splits_of(corpus) else ():
        yield Need("scene_analysis", "it", scenes["corpus"], split, 1, "scene_analysis.splits")


def splits_of(corpus: Block) -> list[str]:
    """Return the splits that the block of a corpus lists, each with its images or file.

    If only the files of the corpus tell its splits, the list is empty.
    """
    keys = {
        "toyworld": "images",
        "folder": "splits",
        "webdataset": "tars",
        "flickr8k-token": "splits",
        "coco-cn": "splits",
    }
    by_split = corpus.get(keys.get(corpus["reader"], "annotations"))
    return [*by_split, *(["val"] if "validation" in corpus else [])] if isinstance(by_split, dict) else []
