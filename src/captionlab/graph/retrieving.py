"""What a config names below `data`, where each of it comes from, and who waits for it."""

import os
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from captionlab.config.blocks import Block
from captionlab.sources.retrieval import Retrieval
from captionlab.sources.table import hub_models, hub_source, read_sources, serving
from captionlab.storage import paths
from captionlab.userfiles.reading import absent


def retrieval(config: Block, named: Iterable[str], root: Path) -> Retrieval:
    """The sources of a config that was checked, of the files that it names; `root` is the folder of the Snakefile."""
    data = (root / config["data"]).resolve()
    hub = [corpus for corpus in config["corpora"].values() if "repository" in corpus]
    pairs = dict.fromkeys((str(corpus["repository"]), str(corpus["revision"])) for corpus in hub)
    places = [below(path, data) for path in named]
    table = read_sources(root / "resources" / "sources.yaml")
    asked = serving(table, places)
    return Retrieval([*asked, *hub_models(places), *(hub_source(*pair, "dataset") for pair in pairs)], data)


class Retrieving:
    """How a run fetches what is missing: `checkpoints` are Snakemake's, of which the rule `retrieve` is one."""

    def __init__(self, retrieval: Retrieval):
        self.retrieval = retrieval
        self.checkpoints: Any = None

    def wait_for(self, given: Iterable[str]) -> None:
        """Let the job that asks wait until all of this is fetched that is missing and may be fetched."""
        data = self.retrieval.data
        asked = serving(self.retrieval.fetchable, [below(path, data) for path in given])
        if any(source.missing(data) for source in asked):
            # Of an earlier run, after which data were lost: with it Snakemake would take the checkpoint for done.
            Path(paths.RETRIEVED).unlink(missing_ok=True)
            self.checkpoints.retrieve.get()

    def sources(self) -> list[Block]:
        """What there is to fetch, as a parameter of a rule."""
        return [{**asdict(source), "addresses": [*source.addresses]} for source in self.retrieval.fetchable]

    def said(self) -> dict[str, str]:
        """What would be said of files and folders that are missing, and what to do; nothing where they are fetched."""
        found = {}
        # What must be had by hand is said last, as a folder may hold some of both.
        for source in sorted(self.retrieval.missing, key=lambda source: bool(source.by_hand)):
            for place in map(Path, source.places):
                for path in (place, *place.parents):
                    for kind in ("file", "folder", "file or folder"):
                        found[absent(self.retrieval.data / path, kind)] = source.by_hand or ""
        return found


def below(path: str, data: Path) -> str:
    """A path that a config names, as one below `data`."""
    return os.path.relpath(data / path, data)
