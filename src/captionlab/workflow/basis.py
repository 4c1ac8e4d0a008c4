"""What every part of the graph stands on: the config, the folder that it belongs to, and what jobs run."""

import importlib.metadata
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from snakemake.io import local

from captionlab.workflow import families
from captionlab.workflow.blocks import Block, normalise, root_of
from captionlab.workflow.code import Fingerprints

# The wildcards of a job, of which each rule has others.
Wildcards = Any
# Modules that a script loads by name, each with the libraries that it computes with.
Loaded = Mapping[str, Iterable[str]]

DECLARED: Mapping[str, Callable[[], Mapping[str, Any]]] = {
    "captioners": families.captioners,
    "encoders": families.encoders,
    "scorers": families.scorers,
    "corpora.readers": families.readers,
    "training.rewards": families.rewards,
}


def loaded(package: str, names: Iterable[str]) -> dict[str, Iterable[str]]:
    """What a script loads that uses models of these families of a package, or readers or rewards of these names."""
    declared = DECLARED[package]()
    return {f"captionlab.{package}.{name.replace('-', '_')}": declared[name].libraries for name in sorted(set(names))}


def listed(given: str | Iterable[str]) -> list[str]:
    """One name, or several, as a list."""
    return [given] if isinstance(given, str) else list(given)


def on_disk(path: Path | str) -> str:
    """A file that the run does not make, as an input: where results live in a bucket, this one does not."""
    return local(str(path))


class Basis:
    """A config that was checked and has all defaults; `root` is the folder of the Snakefile."""

    def __init__(self, config: Block, root: Path | str):
        self.config, self.root = config, Path(root)
        self.corpora: Block = config["corpora"]
        self.encoders: Block = config["encoders"]
        self.captioners: Block = config["captioners"]
        self.evaluations: Block = config["evaluations"]
        self.data = str((self.root / config["data"]).resolve())

    # --------------------------------------------------------------------------------------- code and files
    def code(self, script: str, *also: str) -> str:
        """Fingerprint of a script and all that it reaches, and of modules that it loads by name."""
        return _fingerprints(self.root).of(script, *also)

    def versions(self, *libraries: str) -> dict[str, str]:
        """Installed versions of the libraries whose numerics matter to a rule."""
        return {name: _version(name) for name in sorted(libraries)}

    def software(
        self, script: str, *libraries: str, loads: Callable[[Wildcards], Loaded] | Loaded | None = None
    ) -> Block:
        """The parameters `code` and `versions` of a rule: its script, its libraries, and what the script loads by name.

        What is loaded may depend on the wildcards. Without any library there is no `versions`.
        """

        def code(modules: Loaded) -> str:
            return self.code(script, *modules)

        def versions(modules: Loaded) -> dict[str, str]:
            return self.versions(*{*libraries, *(name for found in modules.values() for name in found)})

        if callable(loads):
            return {"code": lambda wildcards: code(loads(wildcards)), "versions": lambda w: versions(loads(w))}
        return {"code": code(loads or {}), **({"versions": versions(loads or {})} if libraries or loads else {})}

    def given(self, path: str) -> str:
        """A file or folder that the config names, as an input."""
        return on_disk(Path(self.data) / path)

    def missing(self, named: Iterable[tuple[str, str]], folders: bool = False) -> list[str]:
        """A sentence for each key of the config whose file, or also folder, is not there."""
        there, what = (Path.exists, "file or folder") if folders else (Path.is_file, "file")
        places = [(key, Path(self.data) / path) for key, path in named]
        return [f"{key}: no such {what} {path}" for key, path in places if not there(path)]

    # --------------------------------------------------------------------------------- what blocks refer to
    def decoding(self, name: str) -> Block:
        """A decoding, spelled out."""
        return dict(normalise(self.config["decodings"][name]))

    def evaluation_split(self, corpus: str) -> str:
        """Split of a corpus that evaluations use."""
        return str(self.corpora[corpus]["evaluation_split"])

    def family(self, captioner: str) -> str:
        """Family of a captioner, its own or its ancestor's."""
        return str(self.captioners[root_of(self.config, captioner)]["family"])

    def rewards(self, captioner: str) -> list[Mapping[str, Any]]:
        """A captioner's reward and those that it is made of, none where it has none."""
        objective = self.captioners[captioner].get("objective", {})
        return [reward for _, reward in families.rewards_in(objective["reward"])] if "reward" in objective else []


_fingerprints = cache(Fingerprints)


@cache
def _version(library: str) -> str:
    """The installed version, for which a file is parsed."""
    return importlib.metadata.version(library)
