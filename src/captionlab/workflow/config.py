"""The config, checked before the DAG is built: each mistake is one sentence that says where and what to write."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Self

from snakemake.exceptions import ApiError

from captionlab.declarations import DeclarationError
from captionlab.papers import paper_class
from captionlab.workflow.blocks import Block, root_of
from captionlab.workflow.families import captioners, scorers
from captionlab.workflow.judgements import judgement_mistakes
from captionlab.workflow.references import reference_mistakes
from captionlab.workflow.reuse import Reused
from captionlab.workflow.schema import Schema
from captionlab.workflow.seeds import seeds_mistakes, spelled_out
from captionlab.workflow.snapshots import with_snapshots

# Below the folder of the Snakefile.
SCHEMA = Path("workflow", "schemas", "config.schema.yaml")


class ConfigError(ValueError):
    """The config asks for something that cannot be done."""

    @classmethod
    def listing(cls, what: str, mistakes: list[str]) -> Self:
        """An error that lists mistakes, a line each."""
        return cls(f"{what}:\n" + "\n".join(f"  - {mistake}" for mistake in dict.fromkeys(mistakes)))


class Refusal(ApiError):
    """A ConfigError as Snakemake prints it: its sentences and nothing else."""

    # Snakemake shows where in a Snakefile an error was raised, before and after its message.
    __traceback__: Any = property(lambda self: None, lambda self, trace: None)


@cache
def language_of(schema: Path) -> Schema:
    """What a config may say, read once; ConfigError for a module or paper that does not declare what it must."""
    try:
        return Schema(schema)
    except DeclarationError as error:
        raise ConfigError(str(error)) from error


def checked(config: Block, schema: Path) -> Block:
    """The config with all defaults and each of several trainings; a ConfigError lists every mistake, one sentence each.

    What parts of a config say of each other is looked at where each of them fits its schema, and all names lead
    somewhere.
    """
    language = language_of(schema)
    # The schema lies in workflow/schemas below the folder of the Snakefile.
    reused = Reused(config, schema.resolve().parents[2])
    known = reused.with_families()
    mistakes, followed = language.mistakes(known)
    mistakes += reused.mistakes
    filled = with_snapshots(reused.as_files(language.filled(known))) if followed else config
    if followed and reused.complete():
        mistakes += [*reference_mistakes(filled), *reused.width_mistakes(filled)]
        unclear = [*seeds_mistakes(filled, language)]
        mistakes += unclear
        filled = filled if unclear else spelled_out(filled, language)
        mistakes += judgement_mistakes(filled)
        for name, block in filled["papers"].items():
            mistakes += paper_class(name).mistakes(filled, f"papers.{name}", block)
    if mistakes:
        raise ConfigError.listing("the config cannot be run", mistakes)
    if reused.complete():
        _leave_to_families(filled)
    return filled


def named_paths(config: Block, schema: Path) -> list[str]:
    """Every file and folder that a config names, one that was checked; relative ones start at its `data`."""
    language = language_of(schema)
    return [*language.paths(config, language.root)]


def _leave_to_families(config: Block) -> None:
    """Take out what a family does of itself: that it is written out makes no other job of a run that is there."""
    for name, block in config["captioners"].items():
        if (objective := block.get("objective", {})).get("kind") == "reinforce":
            family = config["captioners"][root_of(config, name)]["family"]
            block["objective"] = _but_for(objective, captioners()[family].finetuned_as)
    for name, block in config["scorers"].items():
        # One that is trained here reads as many tokens as it has positions.
        longest = {"max_tokens": block["architecture"]["positions"]} if "architecture" in block else {}
        config["scorers"][name] = _but_for(block, {**scorers()[block["family"]].matching, **longest})


def _but_for(block: Block, usual: Mapping[str, Any]) -> Block:
    return {key: value for key, value in block.items() if key not in usual or value != usual[key]}
