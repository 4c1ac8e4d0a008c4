"""The code and the versions of libraries that jobs depend on, and the files that a config names."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, cached_property
from itertools import chain
from pathlib import Path
from typing import Any

from snakemake.io import local

from captionlab.config import walking
from captionlab.config.blocks import KINDS, Block, any_of, located, normalise, without
from captionlab.config.caveats import caveats
from captionlab.config.languages import other_tokenizers
from captionlab.config.papers import listed
from captionlab.config.settings import Settings
from captionlab.graph.fingerprints import Fingerprints
from captionlab.graph.resources import memory
from captionlab.graph.retrieving import Retrieving
from captionlab.graph.versions import library_version
from captionlab.places import outside
from captionlab.plugins import facts, work_module

# The wildcards of a job. Each rule has its own.
Wildcards = Any
# Modules, or definitions in modules (module:name), that a script loads by name, each with its libraries.
Loaded = Mapping[str, Iterable[str]]

_fingerprints = cache(Fingerprints)


def own(path: Path | str) -> str:
    """Return a file that no job makes, as an input; if results lie in a bucket, this file does not."""
    marked: str = local(str(path))
    return marked


def plugins(package: str, names: Iterable[str], definition: str = "") -> dict[str, Iterable[str]]:
    """Return the modules of plug-ins of a package, each with its libraries.

    If there is a `definition`, only this definition of each module and the definitions that it reaches count.
    """
    known, end = facts(package), definition and f":{definition}"
    return {f"{work_module(package, name)}{end}": known[name].libraries for name in sorted(set(names))}


class Software:
    """The code, libraries and files that jobs of a config depend on.

    `config` was checked and has all defaults; `settings` are its typed sections. `root` is the folder of the Snakefile.
    `caveats` are the caveats on all numbers of the run. Raises ConfigError if they cannot be found.
    """

    memory = staticmethod(memory)

    def __init__(self, config: Block, settings: Settings, root: Path, retrieving: Retrieving | None):
        self.config, self.settings, self.root, self.retrieving = config, settings, root, retrieving
        self.caveats = caveats(config, root)

    def software(
        self, script: str, *libraries: str, loads: Callable[[Wildcards], Loaded] | Loaded | None = None
    ) -> Block:
        """Return the parameters `code`, a fingerprint of all code that a script reaches, and `versions` of libraries.

        `loads` are the modules that the script loads by name, each with its libraries, or a function of the wildcards.
        Without any library there is no `versions`. Both are found when a job is planned, because following the scripts
        of all rules takes seconds.
        """

        def by_name(wildcards: Wildcards) -> Loaded:
            return loads(wildcards) if callable(loads) else loads or {}

        found: Block = {"code": lambda wildcards: self.code(script, *by_name(wildcards))}
        if libraries or loads:
            found["versions"] = lambda wildcards: self.versions(*libraries, *chain(*by_name(wildcards).values()))
        return found

    def code(self, script: str, *modules: str) -> str:
        """Return a fingerprint of a script, all that it reaches, and modules that it loads by name."""
        return _fingerprints(self.root, tuple(outside().items())).of(script, *modules)

    def versions(self, *libraries: str) -> dict[str, str]:
        """Return the versions of libraries."""
        return {name: library_version(name, self.root) for name in sorted(libraries)}

    def provenance(self) -> Block:
        """Return the facts of the run for the footer of every table. The job that makes a table adds the commit."""
        tokenizers = other_tokenizers(self.config["corpora"], self.config["corpora"])
        return {
            "config": self.settings.name,
            "seed": self.settings.seed,
            "toy": any(corpus.reader == "toyworld" for corpus in self.settings.corpora.values()),
            "versions": self.versions("torch", "transformers", "open_clip_torch", "pycocoevalcap", "spacy"),
            **({"caveats": self.caveats} if self.caveats else {}),
            **({"tokenizers": tokenizers} if tokenizers else {}),
        }

    def facts(self, package: str, name: str = "") -> Any:
        """Return the facts of a plug-in, or of all plug-ins of a package, by name."""
        return facts(package)[name] if name else facts(package)

    # ------------------------------------------------------------------------------------------------ blocks
    def names_of(self, section: str, *kinds: str) -> str:
        """Return a regular expression of the names of blocks in a section that are of one of `kinds` (see KINDS)."""
        return any_of(name for name, block in self.config[section].items() if KINDS[section](block) in kinds)

    def block(self, section: str, name: str = "", *others: str, only: Sequence[str] = ()) -> Block:
        """Return the part of a section or block that a job depends on: the keys in `only`, or all keys but `others`.

        Other inputs or parameters of the job stand for the other keys. Keys that no result depends on are left out.
        """
        whole: Block = self._needed[section]
        block: Block = whole.get(name, {}) if name else whole
        kept = {key: value for key, value in block.items() if key in only} if only else without(block, *others)
        return dict(normalise(kept))

    @cached_property
    def _needed(self) -> Block:
        """Return the config without the keys that no result depends on."""
        needed: Block = walking.without_idle(walking.root(), self.config)
        return needed

    # ------------------------------------------------------------------------------------------------- files
    def given(self, path: str) -> str:
        """Return a file that the config names; a job waits until it is fetched, if it is missing and may be fetched."""
        if self.retrieving:
            self.retrieving.wait_for([path])
        return own(located(path, Path(self.settings.data), self.root))

    def files_of(self, section: str, name: str, *keys: str, corpus: str | None = None) -> list[str]:
        """Return the files and folders under some keys of a block. Of files by corpus, only files of `corpus` count."""
        block = self.config[section][name]
        named = [block[key] for key in keys if key in block]
        chosen = [files.get(corpus, []) if isinstance(files, dict) else files for files in named]
        return [self.given(path) for files in chosen for path in listed(files)]

    def file_keys(self, section: str, name: str) -> list[str]:
        """Return the keys of a block under which a file or folder stands."""
        return walking.file_keys(walking.section(section).under(name), self.config[section][name])

    def fetched(self) -> list[Block]:
        """Return the sources that the rule `retrieve` fetches."""
        return self.retrieving.sources() if self.retrieving else []
