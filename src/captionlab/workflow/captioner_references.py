"""What a captioner's block says of other parts of a config that its schema does not: parents, objectives, batches."""

from collections.abc import Iterator

from captionlab.workflow.blocks import GIVEN, Block, captioner_kind, root_of
from captionlab.workflow.families import a_family, captioners, rewards_in


def parent_mistakes(config: Block, name: str) -> Iterator[str]:
    """The line of parents of a captioner leads to one without a parent that can be trained."""
    blocks, line = config["captioners"], [name]
    while parent := blocks[line[-1]].get("parent"):
        if parent in line:
            circle = " -> ".join([*line, parent])
            yield f"captioners.{name} is its own ancestor ({circle}); one of them needs a family instead of a parent"
            return
        line.append(parent)
    if len(line) > 1 and captioner_kind(blocks[line[-1]]) in GIVEN:
        family = blocks[line[-1]]["family"]
        yield f"captioners.{name} cannot be finetuned: {line[-1]!r} is a {family} captioner and has no weights"


def captioner_mistakes(config: Block, name: str, block: Block) -> Iterator[str]:
    """One sentence for each thing in `captioners.<name>` that cannot be done."""
    where = f"captioners.{name}"
    if block.get("family") == "constructed":
        yield from _construction_mistakes(config, name, block)
    if "objective" not in block:
        return
    corpus, objective, optimizer = block["corpus"], block["objective"], block["optimizer"]
    root = config["captioners"][root_of(config, name)]
    yield from size_mistakes(config, where, corpus, "train", optimizer["batch"], "a batch")
    yield from files_mistakes(config, where, root, corpus, "the captioner")
    yield from _objective_mistakes(where, root["family"], objective)
    if optimizer.get("stop_after", 0) > optimizer.get("epochs", 0):
        yield f"{where}.optimizer.stop_after must be at most epochs, which it needs"
    if validation := block.get("validation"):
        yield from size_mistakes(config, where, corpus, validation["split"], 1, "validation")
        if optimizer.get("steps", validation["every"]) < validation["every"]:
            yield f"{where}.validation.every is {validation['every']} and there are {optimizer['steps']} updates"
    if "reward" in objective:
        yield from _reward_mistakes(config, where, block)


def _construction_mistakes(config: Block, name: str, block: Block) -> Iterator[str]:
    if ("mined" in block.get("templates", [])) != ("mined_from" in block):
        yield (
            f"captioners.{name}: mined templates are found in the captions of captioners; give both `templates: "
            "[mined]` and `mined_from: {name of the template: captioner}`, or neither"
        )
    sources = {"captions_of": block["captions_of"]}
    sources |= {f"mined_from.{model}": of for model, of in block.get("mined_from", {}).items()}
    for key, of in sources.items():
        for evaluation, content in config["evaluations"].items():
            if name in content["captioners"] and of not in content["captioners"]:
                yield f"evaluations.{evaluation} has {name!r}, so it needs its {key}; add {of!r} to its captioners"


def _objective_mistakes(where: str, family: str, objective: Block) -> Iterator[str]:
    """What a captioner is trained by suits its family."""
    declared = captioners()[family]
    if objective["kind"] not in declared.objectives:
        able = " or ".join(declared.objectives)
        yield f"{where}.objective.kind is {objective['kind']!r}, by which a {family} cannot be trained; write {able}"
    known_options = {option for other in captioners().values() for option in other.options}
    for option in sorted(known_options & objective.keys() - {*declared.options}):
        able = a_family(name for name, other in captioners().items() if option in other.options)
        yield f"{where}.objective.{option} is nothing that a {family} can do, but {able}; drop it"


def _reward_mistakes(config: Block, where: str, block: Block) -> Iterator[str]:
    objective, batch = block["objective"], block["optimizer"]["batch"]
    if objective["baseline"] == "leave-one-out" and objective["samples"] < 2:
        yield f"{where}.objective: the baseline leave-one-out needs at least 2 samples"
    for place, reward in rewards_in(objective["reward"], f"{where}.objective.reward"):
        if "scorer" in reward:
            scorer = config["scorers"][reward["scorer"]]
            yield from files_mistakes(config, f"{place}.scorer", scorer, block["corpus"])
        if "candidates" not in reward:
            continue
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


def files_mistakes(config: Block, where: str, block: Block, corpus: str, who: str = "the scorer") -> Iterator[str]:
    """Regions and tags that a scorer or captioner reads from files are there for the corpora that are named."""
    for section in ("regions", "tags"):
        if section in block and corpus not in config[section][block[section]].get("files", {corpus: None}):
            yield f"{where}: {who} reads {section}.{block[section]}, which has no files of {corpus!r}; add them"


def size_mistakes(config: Block, where: str, corpus: str, split: str, needed: int, what: str) -> Iterator[str]:
    """Too few images, where the config says how many there are."""
    block = config["corpora"][corpus]
    if block["reader"] == "toyworld" and (there := block["images"].get(split, 0)) < needed:
        yield f"{where}: {what} needs {needed} images of the split {split!r}, and corpora.{corpus}.images has {there}"
