"""What the title of every table, figure and page of a run must say, so that nobody takes its numbers for results."""

from collections.abc import Iterator
from pathlib import Path

from captionlab.config import walking
from captionlab.config.blocks import JUDGED, Block
from captionlab.config.reach import Named, measurements, reached
from captionlab.storage import paths

MODELS = ("captioners", "encoders", "scorers")


def caveats(config: Block) -> list[str]:
    """Return the caveats on all numbers of a checked config; none for a run whose numbers mean what tables say."""
    corpora = sorted({*_seen_by_toy_models(config)})
    toy = [f"toy models on photographs ({', '.join(corpora)}): these numbers mean nothing"] if corpora else []
    return [*toy, *([f"limited to {config['limit']} images of each split"] if config["limit"] else [])]


def _seen_by_toy_models(config: Block) -> Iterator[str]:
    """Yield each corpus that is not of the toy world and that a measurement shows to a model of the toy world."""
    for names in measurements(config):
        models = reached(config, (one for one in names if one[0] != "corpora"))
        if any(_is_toy(config, *one) for one in models):
            yield from (
                corpus for corpus in _corpora(config, names) if config["corpora"][corpus]["reader"] != "toyworld"
            )


def _corpora(config: Block, names: list[Named]) -> set[str]:
    """Return the corpora among names of blocks; for a set of judgements, the corpus with its images."""
    corpora = {name for section, name in names if section == "corpora"}
    judged = {name for name in corpora if config["corpora"][name]["reader"] == JUDGED}
    return (corpora - judged) | {config["judgements"][name]["corpus"] for name in judged}


def _is_toy(config: Block, section: str, name: str) -> bool:
    """Return whether a block is a model that comes with captionlab, or that is trained on a corpus of the toy world."""
    if section not in MODELS:
        return False
    block = config[section][name]
    if config["corpora"].get(block.get("corpus"), {}).get("reader") == "toyworld":
        return True
    files = walking.named_paths(walking.section(section).under(name), block)
    return any(Path(file).is_relative_to(paths.MODELS) for file in files)
