"""What the title of every table, figure and page of a run must say, so that nobody takes its numbers for results."""

from collections.abc import Iterator
from pathlib import Path

from captionlab.config import walking
from captionlab.config.blocks import JUDGED, MODEL_SECTIONS, Block, located
from captionlab.config.reach import Named, measurements, reached
from captionlab.config.whole import ConfigError
from captionlab.installation import start_of
from captionlab.jobs.tracing import sources
from captionlab.storage import paths
from captionlab.userfiles.model_config import NAME


def caveats(config: Block, root: Path) -> list[str]:
    """Return the caveats on all numbers of a checked config; none for a run whose numbers mean what tables say.

    `root` is the folder of the Snakefile. Raises ConfigError if a file of provenance of another run is damaged.
    """
    try:
        corpora = sorted({*_seen_by_toy_models(config, root)})
    except ValueError as error:
        raise ConfigError(f"a model of another run: {error}") from error
    toy = [f"toy models on photographs ({', '.join(corpora)}): these numbers mean nothing"] if corpora else []
    return [*toy, *([f"limited to {config['limit']} images of each split"] if config["limit"] else [])]


def _seen_by_toy_models(config: Block, root: Path) -> Iterator[str]:
    """Yield each corpus that is not of the toy world and that a measurement shows to a model of the toy world."""
    for blocks in measurements(config):
        corpora = _corpora(config, blocks)
        photographs = [corpus for corpus in corpora if config["corpora"][corpus]["reader"] != "toyworld"]
        models = (block for block in blocks if block[0] != "corpora")
        if photographs and any(_is_toy(config, root, *model) for model in reached(config, models)):
            yield from photographs


def _corpora(config: Block, blocks: list[Named]) -> set[str]:
    """Return the corpora among blocks; for a set of judgements, the corpus with its images."""
    corpora = {name for section, name in blocks if section == "corpora"}
    judged = {name for name in corpora if config["corpora"][name]["reader"] == JUDGED}
    return (corpora - judged) | {config["judgements"][name]["corpus"] for name in judged}


def _is_toy(config: Block, root: Path, section: str, name: str) -> bool:
    """Return whether a block is a model of the toy world.

    It is one if it comes with captionlab, is trained on a corpus of the toy world, or was so in another run.
    """
    if section not in MODEL_SECTIONS:
        return False
    block = config[section][name]
    if config["corpora"].get(block.get("corpus"), {}).get("reader") == "toyworld":
        return True
    files = walking.named_paths(walking.section(section).under(name), block)
    if any(Path(file).is_relative_to(paths.MODELS) for file in files):
        return True
    return "config" in block and _was_toy(located(block["config"], start_of(root) / config["data"], root).parent, root)


def _was_toy(model: Path, root: Path) -> bool:
    """Return whether the model in a folder is of the toy world by its card, or by the provenance of the run around it.

    Models that this run took from other runs are looked up there. Nothing is known of a folder outside a run without a
    card. `root` is the folder of the Snakefile.
    """
    ahead = [model]
    met = {model}
    while ahead:
        folder = ahead.pop()
        files = [Path(source) for source in sources(folder / NAME)]
        if _has_toy_card(folder) or any(file.is_relative_to(paths.TOYWORLD) for file in files):
            return True
        taken = {
            (start_of(root) / file).parent
            for file in files
            if file.name == NAME and not file.is_relative_to(paths.RESULTS)
        }
        ahead += taken - met
        met |= taken
    return False


def _has_toy_card(folder: Path) -> bool:
    """Return whether the model card in a folder has the tags of a model of the toy world."""
    card = folder / paths.CARD
    lines = (
        card.read_text(encoding="utf-8", errors="replace").split("\n---\n")[0].splitlines() if card.is_file() else []
    )
    return {"- captionlab", "- toy"} <= {*lines}
