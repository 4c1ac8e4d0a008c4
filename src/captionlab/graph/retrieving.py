"""Files below `data` that a config names: their sources, and the jobs that wait until they are fetched."""

import os
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from captionlab.config.blocks import Block
from captionlab.corpora.inputs import no_tars
from captionlab.installation import start_of
from captionlab.sources.retrieval import Retrieval
from captionlab.sources.table import bucket_sources, hub_models, hub_source, read_sources, serving
from captionlab.storage import paths
from captionlab.userfiles.reading import absent


def retrieval(config: Block, named: Iterable[str], root: Path) -> Retrieval:
    """Return the sources of the files that a checked config names; `root` is the folder of the Snakefile."""
    data = (start_of(root) / config["data"]).resolve()
    hub = [corpus for corpus in config["corpora"].values() if "repository" in corpus]
    pairs = dict.fromkeys((str(corpus["repository"]), str(corpus["revision"])) for corpus in hub)
    places = [below(path, data) for path in named]
    table = read_sources(root / "resources" / "sources.yaml")
    asked = serving(table, places)
    hubs = [*hub_models(places), *(hub_source(*pair, "dataset") for pair in pairs)]
    return Retrieval([*asked, *hubs, *bucket_sources(places)], data)


class Retrieving:
    """Retrieval of missing files by a run. `checkpoints` are Snakemake's; the rule `retrieve` is a checkpoint."""

    def __init__(self, retrieval: Retrieval):
        self.retrieval = retrieval
        self.checkpoints: Any = None

    def wait_for(self, given: Iterable[str]) -> None:
        """Let a job wait until the given files are fetched, as far as they are missing and may be fetched."""
        data = self.retrieval.data
        asked = serving(self.retrieval.fetchable, [below(path, data) for path in given])
        if any(source.missing(data) for source in asked):
            # If the mark of an earlier run stayed, Snakemake would take the checkpoint for done.
            Path(paths.RETRIEVED).unlink(missing_ok=True)
            self.checkpoints.retrieve.get()

    def sources(self) -> list[Block]:
        """Return all sources that can be fetched, as a parameter of a rule."""
        return [{**asdict(source), "addresses": [*source.addresses]} for source in self.retrieval.fetchable]

    def said(self) -> dict[str, str]:
        """Return advice by the error message of each missing path; it is empty if the run fetches the path itself."""
        found: dict[str, str] = {}
        # Files to be fetched by hand come last: a folder may hold both kinds, and later entries replace earlier ones.
        for source in sorted(self.retrieval.missing, key=lambda source: bool(source.by_hand)):
            for place in map(Path, source.places):
                for path in (place, *place.parents):
                    missing = self.retrieval.data / path
                    sentences = [absent(missing, kind) for kind in ("file", "folder", "file or folder")]
                    found |= dict.fromkeys([*sentences, no_tars(missing)], source.by_hand or "")
        return found


def below(path: str, data: Path) -> str:
    """Return a path of a config relative to `data`."""
    return os.path.relpath(data / path, data)
