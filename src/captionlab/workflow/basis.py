"""What every part of the graph stands on: the config, the folder that it belongs to, and what jobs run."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any

from snakemake.io import local

from captionlab import paths
from captionlab.config.papers import listed
from captionlab.given import absent
from captionlab.judgements import JUDGED
from captionlab.plugins import facts, work_module
from captionlab.workflow import families
from captionlab.workflow.blocks import KINDS, Block, any_of, line_of, located, needs_parent, normalise, root_of, without
from captionlab.workflow.code import Fingerprints
from captionlab.workflow.retrieving import Retrieving
from captionlab.workflow.versions import library_version

# The wildcards of a job, of which each rule has others.
Wildcards = Any
# Modules, or definitions of them (module:name), that a script loads by name, each with the libraries it computes with.
Loaded = Mapping[str, Iterable[str]]

# Sections of the config whose names are not those of the wildcards with an s.
_SECTIONS = {"corpus": "corpora", "regions": "regions", "tags": "tags"}

# Of these tables a job holds something else than what its rule says of its features: of regions a few groups of rows,
# however many there are (`base` has room for them); of tags, objects of Python.
HELD = {"regions": 0.0, "tags": 10.0}

# The files of a captioner, by the names that they have in rules.
CAPTIONER = {"config": "config.json", "weights": "model.safetensors", "tokenizer": "tokenizer.json"}

_fingerprints = cache(Fingerprints)


def loaded(package: str, names: Iterable[str], definition: str = "") -> dict[str, Iterable[str]]:
    """What a script loads that uses models of these families of a package, or readers or rewards of these names.

    That is the whole module, or this definition of it and what it reaches.
    """
    known, end = facts(package), definition and f":{definition}"
    return {f"{work_module(package, name)}{end}": known[name].libraries for name in sorted(set(names))}


def on_disk(path: Path | str) -> str:
    """A file that the run does not make, as an input: where results live in a bucket, this one does not."""
    return local(str(path))


def memory(
    base: int, held: Callable[[Any, Mapping[str, Any]], int] | None = None, **factors: float
) -> Callable[[Any, Mapping[str, Any], int], int]:
    """`mem_mb` of a rule: `base` MB and, for each named input, so many times the size of its files.

    A file that is an input twice counts once, and regions and tags by what a job holds of them (HELD). `held` gives the
    bytes that the job holds beside that, from wildcards and inputs. Each further attempt at a job (`retries`) asks for
    as much again. Snakemake calls this when the inputs exist; before that, a dry run says that it is to be determined.
    """

    def mem_mb(wildcards: Any, input: Mapping[str, Any], attempt: int) -> int:
        factor_of: dict[str, float] = {}
        for name, factor in factors.items():
            files = input[name]
            for path in [files] if isinstance(files, str) else files:
                factor_of[path] = HELD.get(paths.stage_of(path) or "", factor)
        size = sum(factor * _size(path) for path, factor in factor_of.items())
        return attempt * int(base + (size + (held(wildcards, input) if held else 0)) / 1e6)

    return mem_mb


def _size(path: str) -> int:
    """Bytes of a file, or of all files in a folder, as models of the hub are."""
    found = Path(path)
    return (
        sum(inner.stat().st_size for inner in found.rglob("*") if inner.is_file())
        if found.is_dir()
        else os.path.getsize(path)
    )


class Basis:
    """A config that was checked and has all defaults; `root` is the folder of the Snakefile."""

    def __init__(self, config: Block, root: Path | str):
        self.config, self.root = config, Path(root)
        self.corpora: Block = config["corpora"]
        self.encoders: Block = config["encoders"]
        self.captioners: Block = config["captioners"]
        self.evaluations: Block = config["evaluations"]
        self.data = str((self.root / config["data"]).resolve())
        self.retrieving: Retrieving | None = None

    # --------------------------------------------------------------------------------------- code and files
    def code(self, script: str, *also: str) -> str:
        """Fingerprint of a script and all that it reaches, and of modules that it loads by name."""
        return _fingerprints(self.root).of(script, *also)

    def versions(self, *libraries: str) -> dict[str, str]:
        """Versions of the libraries whose numerics matter to a rule."""
        return {name: library_version(name, self.root) for name in sorted(libraries)}

    def software(
        self, script: str, *libraries: str, loads: Callable[[Wildcards], Loaded] | Loaded | None = None
    ) -> Block:
        """The parameters `code` and `versions` of a rule: its script, its libraries, and what the script loads by name.

        What is loaded may depend on the wildcards. Without any library there is no `versions`. Both are found when a
        job is planned: to follow the scripts of all rules takes seconds.
        """

        def by_name(wildcards: Wildcards) -> Loaded:
            return loads(wildcards) if callable(loads) else loads or {}

        found: Block = {"code": lambda wildcards: self.code(script, *by_name(wildcards))}
        if libraries or loads:
            found["versions"] = lambda wildcards: self.versions(*libraries, *chain(*by_name(wildcards).values()))
        return found

    def given(self, path: str) -> str:
        """A file or folder that the config names, as an input; a job waits for what is yet to be fetched."""
        self.wait_for([path])
        return on_disk(self.located(path))

    def located(self, path: str) -> Path:
        """Where a file or folder that the config names lies."""
        return located(path, Path(self.data), self.root)

    def wait_for(self, given: Iterable[str]) -> None:
        """Let the job that asks wait until what the config names is fetched, where it is missing and may be."""
        if self.retrieving:
            self.retrieving.wait_for(given)

    def shipped(self, path: str) -> str:
        """A file that comes with the workflow, as an input."""
        return on_disk(self.root / path)

    def of_kind(self, section: str, *kinds: str) -> str:
        """Regular expression of what comes about in one of these ways (KINDS) in a section."""
        return any_of(name for name, block in self.config[section].items() if KINDS[section](block) in kinds)

    def named(self, section: str, *keys: str) -> Iterator[tuple[str, str]]:
        """The files that the blocks of a section name under these keys, each by its key: one, several or by corpus."""
        for name, block in self.config[section].items():
            for key in (key for key in keys if key in block):
                by_corpus = block[key] if isinstance(block[key], dict) else {"": block[key]}
                for corpus, files in by_corpus.items():
                    place = ".".join(filter(None, (section, name, "run" if "run" in block else key, corpus)))
                    yield from ((place, file) for file in listed(files))

    def missing(self, named: Iterable[tuple[str, str]], kind: str = "file") -> list[str]:
        """A sentence for each key of the config whose `file`, `folder`, or `file or folder`, is not there."""
        found = [(key, absent(self.located(path), kind)) for key, path in named]
        return [f"{key}: {said}" for key, said in found if said]

    # ------------------------------------------------------------- the blocks that a job's wildcards name
    def block_of(self, kind: str, wildcards: Wildcards) -> Block:
        """The block of the corpus, captioner or the like (`kind`, the name of the wildcard) of a job."""
        return dict(self.config[_SECTIONS.get(kind, f"{kind}s")][getattr(wildcards, kind)])

    def value(self, kind: str, key: str) -> Callable[[Wildcards], Any]:
        """What that block has under a key; None for nothing."""
        return lambda wildcards: self.block_of(kind, wildcards).get(key)

    def settings(self, kind: str, *others: str) -> Callable[[Wildcards], Block]:
        """What a job depends on of that block: all but keys that inputs or other parameters stand for."""
        return lambda wildcards: normalise(without(self.block_of(kind, wildcards), *others))

    def files_of(self, kind: str, *keys: str) -> Callable[[Wildcards], list[str]]:
        """The files or folders that this block names under these keys; by corpus those of the job's, if any."""

        def found(wildcards: Wildcards) -> list[str]:
            named = (self.block_of(kind, wildcards).get(key, []) for key in keys)
            of_job = (files.get(wildcards.corpus, []) if isinstance(files, dict) else files for files in named)
            return [self.given(path) for files in of_job for path in listed(files)]

        return found

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

    def ancestors(self, captioner: str) -> list[str]:
        """The captioners without which one is not read, as it is adapters: those above it, down to whole weights."""
        line = line_of(self.config, captioner)
        whole = (place for place, name in enumerate(line) if not needs_parent(self.captioners[name]))
        return line[1 : next(whole) + 1]

    def ancestor_files(self, captioner: str) -> list[str]:
        """The files of these."""
        return [paths.captioner(file, name) for name in self.ancestors(captioner) for file in CAPTIONER.values()]

    def loaded_captioners(self, *captioners: str) -> Loaded:
        """What a script loads that uses these captioners, or trains them."""
        adapted = any("lora" in self.captioners[name] for one in captioners for name in line_of(self.config, one))
        adapters = {"captionlab.captioners.adapters": ("peft",)} if adapted else {}
        return {**loaded("captioners", map(self.family, captioners)), **adapters}

    def scored_captioners(self, evaluation: str, references: bool) -> list[str]:
        """Captioners of an evaluation whose captions have scores; people's have none that are held against references.

        Constructed and judged captions are studied by what they are, not as those of one captioner.
        """
        without_scores = {"constructed", JUDGED, *(["human"] if references else [])}
        names = sorted(self.evaluations[evaluation]["captioners"])
        return [name for name in names if self.family(name) not in without_scores]

    def rewards(self, captioner: str) -> list[Mapping[str, Any]]:
        """A captioner's reward and those that it is made of, none where it has none."""
        objective = self.captioners[captioner].get("objective", {})
        return [reward for _, reward in families.rewards_in(objective["reward"])] if "reward" in objective else []


class Part:
    """A part of the config that may not be there: then `config`, and all that is read off it, is empty."""

    def __init__(self, basis: Basis, section: str):
        self.basis = basis
        self.config: Block = basis.config.get(section, {})

    def corpus(self) -> str | None:
        """Its corpus."""
        return self.config.get("corpus")

    def split(self) -> str | None:
        """The split of this corpus that evaluations use."""
        return self.basis.evaluation_split(self.config["corpus"]) if self.config else None

    def table(self, table: str) -> list[str]:
        """A table of this corpus."""
        return [paths.corpus(table, self.config["corpus"])] if self.config else []
