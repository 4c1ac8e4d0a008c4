"""A first look at a config: `limit` images of each split, and everything that needs more images cut down to them."""

import copy
import math
from collections.abc import Iterator, Mapping
from typing import Any

from captionlab.config import walking
from captionlab.config.blocks import MODEL_SECTIONS, Block
from captionlab.config.families import rewards_in
from captionlab.config.settings import typed
from captionlab.corpora.toyworld.domains import DOMAINS
from captionlab.corpora.toyworld.world import LOOKALIKES

# Images of a split without which an analysis is left out: the study has sets of ten look-alikes and easy controls, and
# probes of scenes need several images of each scene, with the objects that tell it.
LEAST = {"study": 100, "scene_analysis": 300}


def limited(config: Block) -> Block:
    """Return a checked config for `limit` images of each split; the config itself if it has no limit."""
    limit = config["limit"]
    if limit is None:
        return config
    smaller = copy.deepcopy(config)
    judged = {judgements["corpus"] for judgements in smaller.get("judgements", {}).values()}
    for name, corpus in smaller["corpora"].items():
        if name not in judged or corpus["reader"] == "toyworld":  # else most judged images would be left out
            _cut_corpus(corpus, limit)
    for evaluation in smaller["evaluations"].values():
        evaluation["candidates"] = min(evaluation["candidates"], limit)
        if bags := evaluation.get("bags"):
            bags["sizes"] = sorted({min(size, limit) for size in bags["sizes"]})
    for section in MODEL_SECTIONS:
        for model in smaller[section].values():
            if "optimizer" in model:
                _cut_training(model, limit)
    for analysis in (analysis for analysis, least in LEAST.items() if limit < least):
        smaller.pop(analysis, None)
    _leave_out_papers(smaller)
    if study := smaller.get("study"):
        _cut_study(study, limit)
    return smaller


def cuts(before: Any, after: Any, place: str = "") -> Iterator[str]:
    """Yield a sentence for each value of a config that a limit changed."""
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for key in before:
            yield from cuts(before[key], after.get(key), f"{place}.{key}" if place else str(key))
    elif before != after:
        yield f"{place} is left out" if after is None else f"{place} is {after} in place of {before}"


def _leave_out_papers(config: Block) -> None:
    """Leave out the papers that need an analysis that was left out."""
    part = walking.section("papers").of(config["papers"])
    for name, block in [*config["papers"].items()]:
        if any(typed(part.under(name), block).mistakes(config)):
            del config["papers"][name]


def _cut_corpus(corpus: Block, limit: int) -> None:
    if corpus["reader"] != "toyworld":
        corpus["limit"] = limit
        return
    size = LOOKALIKES if DOMAINS[corpus["domain"]].style == "distinction" else 1
    most = math.ceil(limit / size) * size  # whole sets, and no fewer images than what needs them was cut to
    corpus["images"] = {split: min(number, most) for split, number in corpus["images"].items()}


def _cut_training(model: Block, limit: int) -> None:
    """Cut the batch of a training, and candidates in rewards, of which a batch has whole sets."""
    optimizer = model["optimizer"]
    batch = min(optimizer["batch"], limit)
    whole = model.get("objective", {}).get("reward")
    rewards: list[Any] = [reward for _, reward in rewards_in(whole) if "candidates" in reward] if whole else []
    for reward in rewards:
        if "hard_negatives" in reward:
            drawn = reward["candidates"] - reward["hard_negatives"]
            reward["hard_negatives"] = min(reward["hard_negatives"], limit - 1)
            reward["candidates"] = drawn + reward["hard_negatives"]
    while unfit := [reward for reward in rewards if batch % (reward["candidates"] - reward.get("hard_negatives", 0))]:
        for reward in unfit:
            hard_negatives = reward.get("hard_negatives", 0)
            reward["candidates"] = min(reward["candidates"], batch + hard_negatives)
            batch -= batch % (reward["candidates"] - hard_negatives)
    optimizer["batch"] = batch
    for bag in (model.get("objective", {}).get("bags") or {}).get("sizes", ()):
        bag["size"] = min(bag["size"], batch)
    optimizer["accumulate"] = math.gcd(optimizer["accumulate"], batch)


def _cut_study(study: Block, limit: int) -> None:
    """Cut the sets of the study. Participants of the whole study saw other images, so their answers are left out."""
    study["sets"] = study["block"] = min(study["sets"], study["block"], limit // 20)
    study["controls"] = 0
    for key in ("exclude", "responses"):
        study.pop(key, None)
