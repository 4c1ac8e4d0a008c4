"""The functions of a config that rules share."""

import json
import os
from pathlib import Path
from typing import Any

import yaml
from snakemake.exceptions import ApiError

from captionlab.config.blocks import MODEL_SECTIONS, Block
from captionlab.config.judged import with_judgements
from captionlab.config.seeds import trainings
from captionlab.config.settings import Settings
from captionlab.config.snapshots import with_snapshots
from captionlab.config.whole import ConfigError, checked, named_paths
from captionlab.graph.documents import Documents
from captionlab.graph.limit import cuts, limited
from captionlab.graph.missing import MissingFiles
from captionlab.graph.retrieving import Retrieving, retrieval
from captionlab.graph.tagger import tagger_of
from captionlab.installation import is_installed, start_of
from captionlab.jobs.failures import advice, locked
from captionlab.storage import paths
from captionlab.storage.files import replacing


class Refusal(ApiError):
    """A ConfigError as Snakemake prints it: its sentences and nothing else."""

    # Snakemake shows where in a Snakefile an error was raised, before and after its message.
    __traceback__: Any = property(lambda self: None, lambda self, trace: None)


class Graph(Documents):
    """Inputs and parameters of jobs of a config, as far as rules share them.

    `config` is as the files and the command line give it. Raises ConfigError if it has mistakes. `root` is the folder
    of the Snakefile. `cuts` has a sentence for each value that the key `limit` changed.
    """

    def __init__(self, config: Block, root: Path | str):
        root = Path(root)
        unlimited = checked(config, root)
        limited_config = limited(unlimited)
        self.cuts = [*cuts(unlimited, limited_config)]
        whole = with_judgements(limited_config)
        self.trainings = {section: trainings(with_snapshots(config), section) for section in MODEL_SECTIONS}
        settings = Settings(whole, str((start_of(root) / whole["data"]).resolve()), self.trainings["captioners"])
        fetching = Retrieving(retrieval(whole, named_paths(whole), root)) if whole["retrieve"] else None
        super().__init__(whole, settings, root, fetching)
        self.tagger = tagger_of(settings, root)

    def check_files(self) -> None:
        """Raise a ConfigError that lists the files and folders that are not there, or whose names are ambiguous."""
        MissingFiles(self.config, Path(self.settings.data), self.root).check(self.retrieving)


def check_results() -> None:
    """Raise a ConfigError if results may not be written."""
    folder = next(folder for folder in (Path(paths.RESULTS), Path.cwd()) if folder.exists())
    if not os.access(folder, os.W_OK):
        raise ConfigError(locked(folder.absolute()))


def record_config(config: Block) -> None:
    """Write the whole config into the run's folder: the files of the config and the command line, merged.

    Raises ConfigError if the disk is full.
    """
    text = yaml.safe_dump(json.loads(json.dumps(config, default=str)), sort_keys=False, allow_unicode=True)
    try:
        with replacing(paths.CONFIG) as partial:
            partial.write_text(text, encoding="utf-8")
    except OSError as error:
        raise ConfigError(advice(error, paths.CONFIG) or str(error)) from error


def lend_library(root: Path) -> None:
    """Let scripts import the library of the checkout `root`, also in an environment that Snakemake made.

    Scripts read and write names of files and texts in UTF-8, whatever the locale.
    """
    os.environ["PYTHONUTF8"] = "1"
    if is_installed(root):  # jobs run in the environment of the package
        return
    others = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    library = str(root / "src")
    os.environ["PYTHONPATH"] = os.pathsep.join([library, *(path for path in others if path not in ("", library))])
