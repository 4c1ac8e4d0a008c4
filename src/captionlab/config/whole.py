"""The config, checked before the DAG is built: each mistake is one sentence that says where and what to write."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

from captionlab.config import walking
from captionlab.config.blocks import Block, root_of
from captionlab.config.checking import check
from captionlab.config.families import captioners, scorers
from captionlab.config.judged import judgement_mistakes
from captionlab.config.papers import check_papers
from captionlab.config.references import reference_mistakes
from captionlab.config.reuse import Reused
from captionlab.config.seeds import seeds_mistakes, spelled_out
from captionlab.config.snapshots import with_snapshots
from captionlab.installation import start_of
from captionlab.plugins import PluginError, config_module, use
from captionlab.sources.table import BUCKETS, in_data


class ConfigError(ValueError):
    """The config asks for something that cannot be done."""

    @classmethod
    def listing(cls, what: str, mistakes: list[str]) -> Self:
        """Return an error that lists mistakes, one on each line."""
        return cls(f"{what}:\n" + "\n".join(f"  - {mistake}" for mistake in dict.fromkeys(mistakes)))


def checked(config: Block, root: Path) -> Block:
    """Return the config with all defaults, and with each block with seeds replaced by its trainings.

    Raises ConfigError with one sentence for each mistake. Checks across blocks run if each block fits its model and all
    names lead to blocks. `root` is the folder of the Snakefile.
    """
    config = {key: _below_data(value) if key != "data" else value for key, value in config.items()}
    try:
        _use_plugins(config, root)
        reused = Reused(config, root.resolve())
        known = reused.with_families()
        check_papers()
        mistakes, whole = check(known)
    except PluginError as error:
        raise ConfigError(str(error)) from error
    mistakes += reused.mistakes
    filled = with_snapshots(reused.as_files(walking.filled(known))) if whole else config
    if whole and reused.complete():
        mistakes += [*reference_mistakes(filled), *reused.width_mistakes(filled)]
        unclear = [*seeds_mistakes(filled)]
        mistakes += unclear
        filled = filled if unclear else spelled_out(filled)
        mistakes += judgement_mistakes(filled)
        for name, block in filled["papers"].items():
            mistakes += config_module("papers", name).run_mistakes(filled, f"papers.{name}", block)
    if mistakes:
        raise ConfigError.listing("the config cannot be run", mistakes)
    if reused.complete():
        _leave_to_families(filled)
    return filled


def _use_plugins(config: Block, root: Path) -> None:
    """Use the packages of plug-ins that a config names, which may have mistakes of any kind.

    Raises ConfigError for a folder without plug-ins.
    """
    named, data = config.get("plugins"), start_of(root) / str(config.get("data", "."))
    folders = named if isinstance(named, list) and all(isinstance(folder, str) for folder in named) else []
    try:
        use([data / folder for folder in folders])
    except PluginError as error:
        raise ConfigError(f"plugins: {error}") from error


def _below_data(value: Any) -> Any:
    """Return a value of a config in which each address in a bucket is the place below `data` where it is put."""
    if isinstance(value, Mapping):
        return {key: _below_data(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return [_below_data(entry) for entry in value]
    return in_data(value) if isinstance(value, str) and value.startswith(BUCKETS) else value


def named_paths(config: Block) -> list[str]:
    """Return every file and folder that a checked config names; relative paths start at its `data`."""
    return [*walking.named_paths(walking.root(), config)]


def _leave_to_families(config: Block) -> None:
    """Delete values that are the default of the family, so that writing a default into the config reruns nothing."""
    for name, block in config["captioners"].items():
        if (objective := block.get("objective", {})).get("kind") == "reinforce":
            family = config["captioners"][root_of(config, name)]["family"]
            block["objective"] = _but_for(objective, captioners()[family].finetuned_as)
    for name, block in config["scorers"].items():
        # By default, a scorer that is trained here reads as many tokens as it has positions.
        longest = {"max_tokens": block["architecture"]["positions"]} if "architecture" in block else {}
        config["scorers"][name] = _but_for(block, {**scorers()[block["family"]].matching, **longest})


def _but_for(block: Block, usual: Mapping[str, Any]) -> Block:
    return {key: value for key, value in block.items() if key not in usual or value != usual[key]}
