"""Blocks of a config: their kinds, their ancestors and their normal form."""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from captionlab import plugins
from captionlab.storage import paths

Block = dict[str, Any]

# The sections of a config that hold models.
MODEL_SECTIONS = ("encoders", "scorers", "captioners")
# Marks judged captions in a config: it is the family of their captioner, and the reader and only split of their corpus.
JUDGED = "judged"
# Stands between the names of sets whose judgements are pooled; no name in a config has this character.
POOL = "+"

# Families of captioners without weights: their captions exist already or are constructed from other captions.
GIVEN = {"file", "human", "constructed", JUDGED}
# The family of captioners behind servers.
ENDPOINT = "endpoint"
# The kind of captioners that only write texts: they read the images themselves, and have no weights.
WRITER, IMAGES = "writer", "images"
# Where the block of a captioner names a decoding of its training.
TRAINING_DECODINGS = (("objective", "decoding"), ("objective", "search"), ("validation", "decoding"))


def normalise(value: Any) -> Any:
    """Return a value with the keys of every mapping sorted, so that the order of keys in a config does not matter."""
    if isinstance(value, Mapping):
        return {key: normalise(value[key]) for key in sorted(value)}
    return [normalise(item) for item in value] if isinstance(value, (list, tuple)) else value


def captioner_kind(block: Mapping[str, Any]) -> str:
    """Return the kind of a captioner.

    It is file, human, constructed, judged, endpoint, writer, finetuned, imported or pretrained.
    """
    family = block.get("family")
    if family in {*GIVEN, ENDPOINT}:
        return str(family)
    if (facts := plugins.facts("captioners").get(str(family))) and facts.reads == IMAGES:
        return WRITER
    if "parent" in block:
        return "finetuned"
    return "imported" if "weights" in block else "pretrained"


def has_captions(corpus: Mapping[str, Any]) -> bool:
    """Return whether the images of a corpus have captions; a corpus with `captions: null` has none."""
    return corpus.get("captions", "") is not None


def model_kind(block: Mapping[str, Any]) -> str:
    """Return the kind of an encoder or a scorer: imported, trained, patches (of an encoder) or encoder."""
    kinds = {"patches_of": "patches", "encoder": "encoder", "weights": "imported"}
    return next((kind for key, kind in kinds.items() if key in block), "trained")


def scorer_kind(block: Mapping[str, Any]) -> str:
    """Return the kind of a scorer: folder (imported from a folder), imported, trained or encoder."""
    kind, facts = model_kind(block), plugins.facts("scorers").get(block.get("family", ""))
    return "folder" if kind == "imported" and facts and facts.folder else kind


def _by_engine(block: Block) -> str:
    """Return the kind of a captioner, finetuned-by-trl if TRL trains it."""
    return "finetuned-by-trl" if block.get("engine") == "trl" else captioner_kind(block)


# Functions of a block by section: the kind of the block, by which rules choose the blocks that they make.
KINDS: Mapping[str, Callable[[Block], str]] = {
    "corpora": lambda block: {"toyworld": "rendered", JUDGED: JUDGED}.get(block["reader"], "read"),
    "encoders": model_kind,
    "regions": lambda block: str(block["source"]),
    "scorers": scorer_kind,
    "captioners": lambda block: "snapshot" if "snapshot" in block else _by_engine(block),
    "evaluations": lambda block: "in-shards" if block["shards"] > 1 else "whole",
}


def line_of(config: Block, captioner: str) -> list[str]:
    """Return a captioner and its ancestors, the oldest last."""
    line = [captioner]
    while "parent" in config["captioners"][line[-1]]:
        line.append(config["captioners"][line[-1]]["parent"])
    return line


def root_of(config: Block, captioner: str) -> str:
    """Return the oldest ancestor of a captioner, or the captioner itself if it has no parent."""
    return line_of(config, captioner)[-1]


def located(path: str | Path, data: Path, root: Path) -> Path:
    """Return where a path of a config lies: a model that comes with captionlab below `root`, all else below `data`.

    `root` is the folder of the Snakefile. So a config with another `data` still finds the models of the toy world.
    """
    return (root if Path(path).is_relative_to(paths.MODELS) else data) / path


def needs_parent(captioner: Block) -> bool:
    """Return whether the files of a captioner are adapters, which are read with its parent."""
    return "lora" in captioner and not captioner["lora"]["merge"]


def without(block: Mapping[str, Any], *keys: str) -> Block:
    """Return a block without some of its keys."""
    return {key: value for key, value in block.items() if key not in keys}


def any_of(names: Iterable[str]) -> str:
    """Return a regular expression that matches the names, for the wildcards of a rule."""
    return "|".join(sorted(set(names))) or "(?!)"  # no name at all matches nothing
