"""What a captioner's block says of other parts of a config: parents without cycles, what it reads, its batches."""

from collections.abc import Iterator

from captionlab.workflow.blocks import GIVEN, Block, captioner_kind, plain_rewards, root_of
from captionlab.workflow.families import READS, captioners
from captionlab.workflow.names import (
    a_family,
    family_of,
    files_mistakes,
    known,
    parent_mistakes,
    retriever_mistakes,
    size_mistakes,
)

# What a learning rate that falls in steps needs.
STAIRCASE = ("decay", "decay_epochs")


def captioner_mistakes(config: Block, name: str, block: Block) -> Iterator[str]:
    """One sentence for each thing in `captioners.<name>` that cannot be followed."""
    where = f"captioners.{name}"
    if "parent" in block:
        yield from parent_mistakes(config, name)
    if "corpus" in block:
        yield from known(config, "corpora", block["corpus"], f"{where}.corpus")
        if "optimizer" in block:
            yield from size_mistakes(config, where, block["corpus"], "train", block["optimizer"]["batch"], "a batch")
    for section, key in (("encoders", "encoder"), ("regions", "regions"), ("tags", "tags")):
        if key in block:
            yield from known(config, section, block[key], f"{where}.{key}")
    yield from _family_mistakes(config, where, name, block)
    for corpus in block.get("captions", {}):
        yield from known(config, "corpora", corpus, f"{where}.captions")
    if "optimizer" in block:
        yield from _optimizer_mistakes(where, block["optimizer"])
    if validation := block.get("validation"):
        yield from _validation_mistakes(config, where, block, validation)
    if "reward" in block.get("objective", {}):
        yield from _reward_mistakes(config, where, block)


def _family_mistakes(config: Block, where: str, name: str, block: Block) -> Iterator[str]:
    """What a captioner reads of images, and what it is trained by, suit its family."""
    if (family := family_of(config, name)) is None or captioner_kind(block) in GIVEN:
        return
    root, declared = config["captioners"][root_of(config, name)], captioners()[family]
    if "corpus" in block and "optimizer" in block:
        yield from files_mistakes(config, where, root, block["corpus"], "the captioner")
    if "family" in block:
        yield from _reading_mistakes(config, where, block, declared.reads)
    objective = block.get("objective", {})
    if (kind := objective.get("kind", declared.objectives[0])) not in declared.objectives:
        able = " or ".join(declared.objectives)
        yield f"{where}.objective.kind is {kind!r}, by which a {family} cannot be trained; write {able}"
    known_options = {option for other in captioners().values() for option in other.options}
    for option in sorted(known_options & objective.keys() - {*declared.options}):
        able = a_family(name for name, other in captioners().items() if option in other.options)
        yield f"{where}.objective.{option} is nothing that a {family} can do, but {able}; drop it"


def _reading_mistakes(config: Block, where: str, block: Block, reads: str) -> Iterator[str]:
    """A captioner names what its family `reads`, and nothing else."""
    family, needed = block["family"], READS[reads]
    for key in dict.fromkeys(key for keys in READS.values() for key in keys):
        if (key in block) != (key in needed):
            what = f"not {key}" if key in block else f"so it needs {key}"
            yield f"{where}: a {family} reads {' and '.join(needed)} of images, {what}"
    encoder = config.get("encoders", {}).get(block.get("encoder"), {})
    if encoder and needed == READS["patches"] and ("patches_of" in encoder) != (reads == "patches"):
        wanted = "a grid; name an encoder with" if reads == "patches" else "one vector; name an encoder without"
        yield f"{where}.encoder is {block['encoder']!r}, and {family} reads of each image {wanted} `patches_of`"


def _optimizer_mistakes(where: str, optimizer: Block) -> Iterator[str]:
    if optimizer.get("schedule") == "staircase" and (missing := [k for k in STAIRCASE if k not in optimizer]):
        yield f"{where}.optimizer: the schedule staircase needs {' and '.join(missing)}"
    if optimizer.get("schedule") != "staircase" and (given := [k for k in STAIRCASE if k in optimizer]):
        yield f"{where}.optimizer.{given[0]} is for `schedule: staircase`"
    if optimizer.get("stop_after", 0) > optimizer.get("epochs", 0):
        yield f"{where}.optimizer.stop_after must be at most epochs, which it needs"


def _validation_mistakes(config: Block, where: str, block: Block, validation: Block) -> Iterator[str]:
    yield from known(config, "decodings", validation["decoding"], f"{where}.validation.decoding")
    yield from size_mistakes(config, where, block["corpus"], validation["split"], 1, "validation")
    if config.get("decodings", {}).get(validation["decoding"], {}).get("kind") == "sample":
        yield f"{where}.validation.decoding draws at random; validation needs greedy decoding or a beam search"
    if block["optimizer"].get("steps", validation["every"]) < validation["every"]:
        yield f"{where}.validation.every is {validation['every']} and there are {block['optimizer']['steps']} updates"


def _reward_mistakes(config: Block, where: str, block: Block) -> Iterator[str]:
    objective, batch = block["objective"], block["optimizer"]["batch"]
    yield from known(config, "decodings", objective["decoding"], f"{where}.objective.decoding")
    kind = config.get("decodings", {}).get(objective["decoding"], {}).get("kind")
    if objective["kind"] == "reinforce" and kind == "beam":
        yield f"{where}.objective.decoding is a beam search; REINFORCE needs greedy decoding or sampling"
    if objective["kind"] == "self-critical" and kind not in ("greedy", None):
        yield f"{where}.objective.decoding must be greedy: it makes the baseline, and samples end as it does"
    if objective.get("baseline") == "leave-one-out" and objective.get("samples", 5) < 2:
        yield f"{where}.objective: the baseline leave-one-out needs at least 2 samples"
    for place, reward in plain_rewards(objective["reward"], f"{where}.objective.reward"):
        if "scorer" in reward:
            yield from known(config, "scorers", reward["scorer"], f"{place}.scorer")
            scorer = config.get("scorers", {}).get(reward["scorer"], {})
            yield from files_mistakes(config, f"{place}.scorer", scorer, block["corpus"])
        if "retriever" not in reward:
            continue
        yield from retriever_mistakes(config, reward["retriever"], f"{place}.retriever")
        hard = reward.get("hard_negatives", 0)
        candidates = reward["candidates"] - hard
        if candidates < 1:
            yield f"{place}: {hard} hard_negatives of {reward['candidates']} candidates leave no place for the image"
            continue
        if batch < candidates or batch % candidates:
            what = "smaller than" if batch < candidates else "no multiple of"
            enough = max(1, batch // candidates) * candidates
            less = f" less {hard} hard negatives" if hard else ""
            yield (
                f"{where}: distractors come from the batch, and a batch of {batch} is {what} {reward['candidates']} "
                f"candidates{less}; write `optimizer: {{batch: {enough}}}` or `reward: {{candidates: {batch + hard}}}`"
            )
