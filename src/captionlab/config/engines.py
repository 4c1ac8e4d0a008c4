"""Checks of trainings by TRL: what `engine: trl` of a captioner can train, and by which settings."""

from collections.abc import Iterator
from importlib.util import find_spec

from captionlab.config.blocks import Block, root_of

# Settings of the objective self-critical under which it is RLOO, as TRL computes it.
RLOO = {
    "baseline": "leave-one-out",
    "dropout": False,
    "freeze_embeddings": False,
    "log_prob": "sum",
    "scale": 1,
    "temperature": 1,
}
# Keys of a decoding that TRL follows.
DECODING = {"kind", "max_tokens", "samples"}


def engine_mistakes(config: Block, name: str, block: Block) -> Iterator[str]:
    """Yield one sentence for each setting of a finetuned captioner that its engine does not have."""
    where = f"captioners.{name}"
    if block["engine"] != "trl":
        for key in ("accelerate", "use_vllm"):
            if block.get(key):
                yield f"{where}.{key} is for `engine: trl`; write it, or drop {key}"
        return
    if not find_spec("trl"):
        yield f"{where}.engine is trl, which is not installed: pip install trl"
    yield from _captioner_mistakes(config, name, where)
    for key in ("validation", "snapshots"):
        if key in block:
            yield f"{where}.{key} is nothing that `engine: trl` has; drop it, or write `engine: captionlab`"
    yield from _optimizer_mistakes(f"{where}.optimizer", block["optimizer"])
    yield from _objective_mistakes(config, f"{where}.objective", block["objective"])
    if block["use_vllm"] and block["objective"]["kind"] not in ("grpo", "self-critical"):
        yield f"{where}.use_vllm is for grpo and self-critical, which sample captions in each update; drop it"


def _captioner_mistakes(config: Block, name: str, where: str) -> Iterator[str]:
    """Yield a sentence if a captioner is no chat model of the hub that reads pixels."""
    root = root_of(config, name)
    block = config["captioners"][root]
    if block["family"] != "transformers":
        yield (
            f"{where}.engine is trl, which trains captioners of the family transformers, and {root!r} is a "
            f"{block['family']}; drop it"
        )
    elif "encoder" in block:
        yield (
            f"{where}.engine is trl, which reads images, and captioners.{root} reads a table of features; leave "
            "`encoder` out there"
        )
    elif "run" not in block and "chat" not in block:
        yield f"{where}.engine is trl, which prompts by chats; write `chat` in captioners.{root} in place of `prompt`"


def _optimizer_mistakes(where: str, optimizer: Block) -> Iterator[str]:
    """Yield one sentence for each key of an optimizer without a counterpart in transformers."""
    if optimizer["schedule"] == "staircase":
        yield f"{where}.schedule is staircase, which `engine: trl` does not have; write constant, linear or cosine"
    if "clip_value" in optimizer:
        yield f"{where}.clip_value is nothing that `engine: trl` has; write clip_norm"
    if optimizer["kind"] == "adam" and optimizer["weight_decay"]:
        yield f"{where}.kind is adam, whose weight decay `engine: trl` does not have; write adamw"
    if optimizer["batch"] % (parts := optimizer["accumulate"]):
        yield f"{where}.batch is {optimizer['batch']}, and `engine: trl` needs a multiple of accumulate, {parts}"


def _objective_mistakes(config: Block, where: str, objective: Block) -> Iterator[str]:
    """Yield one sentence for each setting of an objective that TRL does not have."""
    kind = objective["kind"]
    if kind == "cross-entropy":
        others: Block = {"captions_per_image": 1}
    elif kind in ("dpo", "grpo"):
        others = {}
    elif kind == "self-critical":
        others = RLOO
        if "bags" in objective:
            yield f"{where}.bags is nothing that `engine: trl` has; drop it"
        if "search" in objective:
            yield f"{where}.search is nothing that `engine: trl` has; drop it"
    else:
        able = "cross-entropy, dpo, grpo or self-critical"
        yield f"{where}.kind is {kind!r}, by which `engine: trl` cannot train; write {able}"
        return
    for key, value in others.items():
        if (present := objective.get(key)) != value:
            written = str(value).lower()
            yield f"{where}.{key} is {present}, and `engine: trl` trains by `{key}: {written}`; write it"
    if kind in ("grpo", "self-critical"):
        name = objective["decoding"]
        for key, value in sorted(config["decodings"][name].items()):
            if key not in DECODING and value not in (1, "transformers"):
                yield f"{where}.decoding: decodings.{name}.{key} is nothing that `engine: trl` has; drop it"
