"""What a config says of constructed captioners and of the probing paper, and whether it can be followed."""

from collections.abc import Iterator, Mapping
from typing import Any

from captionlab.workflow.blocks import Block, captioner_kind
from captionlab.workflow.names import known

# The role that all others are compared with.
REFERENCE_ROLE = "CE"


def listed(names: str | list[str]) -> list[str]:
    """One name as a list of names."""
    return [names] if isinstance(names, str) else list(names)


def reward_scorers(reward: Any) -> list[str]:
    """Scorers that a reward names, those of its parts included."""
    if isinstance(reward, Mapping):
        own = [str(reward["scorer"])] if "scorer" in reward else []
        return own + [name for part in reward.values() for name in reward_scorers(part)]
    return [name for part in reward for name in reward_scorers(part)] if isinstance(reward, list) else []


def probing_mistakes(config: Block) -> Iterator[str]:
    """One sentence for each reference that cannot be followed; the config must fit the schema."""
    for name, block in config["captioners"].items():
        if captioner_kind(block) == "constructed":
            yield from _constructed_mistakes(config, name, block)
    if paper := config.get("papers", {}).get("probing"):
        yield from _paper_mistakes(config, "papers.probing", paper)


def _constructed_mistakes(config: Block, name: str, block: Block) -> Iterator[str]:
    where = f"captioners.{name}"
    if ("mined" in block.get("templates", [])) != ("mined_from" in block):
        yield (
            f"{where}: mined templates are found in the captions of captioners; give both `templates: [mined]` and "
            "`mined_from: {name of the template: captioner}`, or neither"
        )
    if "nouns" in block and "templates" not in block:
        yield f"{where}.nouns asks for so many nouns in a template; add `templates: [published]`"
    sources = {"captions_of": block["captions_of"]}
    sources |= {f"mined_from.{model}": of for model, of in block.get("mined_from", {}).items()}
    for key, of in sources.items():
        yield from known(config, "captioners", of, f"{where}.{key}")
        if config["captioners"].get(of, {}).get("family") == "constructed":
            yield f"{where}.{key} is {of!r}, which is constructed itself; name a captioner that sees the images"
        for evaluation, content in config["evaluations"].items():
            if name in content["captioners"] and of not in content["captioners"]:
                yield f"evaluations.{evaluation} has {name!r}, so it needs its {key}; add {of!r} to its captioners"


def _paper_mistakes(config: Block, where: str, paper: Block) -> Iterator[str]:
    yield from known(config, "evaluations", paper["evaluation"], f"{where}.evaluation")
    evaluation = config["evaluations"].get(paper["evaluation"])
    if "language" not in config:
        yield f"{where} needs a language model; add the section `language`"
    if REFERENCE_ROLE not in paper["captioners"]:
        yield f"{where}.captioners needs the role {REFERENCE_ROLE}, which all others are compared with"
    named = {f"{where}.captioners.{role}": (names, "captioners") for role, names in paper["captioners"].items()}
    named[f"{where}.constructed"] = (paper.get("constructed", []), "captioners")
    named |= {f"{where}.scorers.{label}": (name, "scorers") for label, name in paper["scorers"].items()}
    named |= {f"{where}.corpora.{label}": (name, "corpora") for label, name in paper["corpora"].items()}
    for key, (names, section) in named.items():
        for name in listed(names):
            yield from known(config, section, name, key)
            if evaluation and name in config.get(section, {}) and name not in evaluation.get(section, []):
                yield f"{key} is {name!r}, which is not in evaluations.{paper['evaluation']}.{section}; add it there"
    for name in listed(paper.get("constructed", [])):
        if config["captioners"].get(name, {}).get("family", "constructed") != "constructed":
            yield f"{where}.constructed is {name!r}, whose family is not constructed"
    for role, names in paper["captioners"].items():
        for name in listed(names):
            if config["captioners"].get(name, {}).get("family") in ("human", "constructed"):
                yield f"{where}.captioners.{role} is {name!r}; a role is played by a captioner that sees the images"
