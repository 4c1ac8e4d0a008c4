"""Regions and scorers of a config: what their jobs read, and the part of the config that each depends on.

A rule names a method of `Scoring` as its input function or parameter; Snakemake calls it with the wildcards.
"""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from captionlab import paths
from captionlab.workflow import families
from captionlab.workflow.blocks import Block, any_of, normalise, scorer_kind
from captionlab.workflow.resources import on_disk

if TYPE_CHECKING:
    from captionlab.workflow.experiments import Experiments

# Keys of a trained scorer that name other parts of the config, or that another parameter holds.
_NAMES = ("regions", "corpus", "seed", "weights", "vocabulary", "encoder")

# Printed are per cent; a scorer with at least this scale gives them already.
PER_CENT = 100.0


class Wildcards(Protocol):
    """The wildcards of a job that the methods below may ask for."""

    corpus: str
    regions: str
    scorer: str
    captioner: str
    evaluation: str
    shard: str


class Scoring:
    """The regions and scorers of the experiments of a config."""

    def __init__(self, lab: "Experiments"):
        self.lab = lab
        self.regions: Block = lab.config.get("regions", {})
        self.scorers: Block = lab.config.get("scorers", {})

    def missing_files(self) -> list[str]:
        """A sentence for each file or folder that the config names and that is not there."""
        places = ((key, Path(self.lab.data) / path) for key, path in self._files())
        return [f"{key}: no such file or folder {path}" for key, path in places if not path.exists()]

    def _files(self) -> Iterator[tuple[str, str]]:
        for name, block in self.regions.items():
            if "weights" in block:
                yield f"regions.{name}.weights", block["weights"]
            for corpus in block.get("files", {}):
                yield from ((f"regions.{name}.files.{corpus}", path) for path in self._paths(name, corpus))
        for name, block in self.scorers.items():
            yield from ((f"scorers.{name}.{key}", block[key]) for key in ("weights", "vocabulary") if key in block)

    def trained(self) -> list[str]:
        """Scorers that are trained here."""
        return [name for name, block in sorted(self.scorers.items()) if scorer_kind(block) == "trained"]

    def factors(self) -> dict[str, float]:
        """For each scorer the factor that puts its scores into per cent."""
        return {name: _factor(block) for name, block in sorted(self.scorers.items())}

    # --------------------------------------------------------------------------------------------- regions
    def regions_from(self, *sources: str) -> str:
        """Regular expression of the regions that come from one of these sources."""
        return any_of(n for n, r in self.regions.items() if r["source"] in sources)

    def regions_block(self, wildcards: Wildcards) -> Block:
        """What the regions of a corpus depend on, files and encoder by name aside."""
        return normalise({k: v for k, v in self.regions[wildcards.regions].items() if k not in ("files", "encoder")})

    def regions_files(self, wildcards: Wildcards) -> list[str]:
        """Files or folders that the regions of a corpus are read from."""
        return [self._in_data(path) for path in self._paths(wildcards.regions, wildcards.corpus)]

    def regions_objects(self, wildcards: Wildcards) -> list[str]:
        """The table of annotated objects, where regions are pooled in their boxes."""
        given = self.regions[wildcards.regions]["source"] == "boxes"
        return [paths.corpus("objects", wildcards.corpus)] if given else []

    def regions_encoder(self, file: str) -> Callable[[Wildcards], list[str]]:
        """A file of the encoder whose features are pooled."""
        return lambda wildcards: [paths.encoder(file, e) for e in self._pooled(wildcards)]

    def regions_code(self, script: str) -> Callable[[Wildcards], str]:
        """Fingerprint of the script that extracts regions, with the family of the encoder whose features are pooled."""
        return lambda wildcards: self.lab.code(script, *self.lab.embedding.modules(*self._pooled(wildcards)))

    def regions_versions(self, *libraries: str) -> Callable[[Wildcards], dict[str, str]]:
        """Versions of these libraries and of that which this encoder needs."""
        return lambda wildcards: self.lab.versions(*libraries, *self.lab.embedding.libraries(*self._pooled(wildcards)))

    def _pooled(self, wildcards: Wildcards) -> list[str]:
        block = self.regions[wildcards.regions]
        return [block["encoder"]] if "encoder" in block else []

    def regions_weights(self, wildcards: Wildcards) -> list[str]:
        """The weights of a detector."""
        block = self.regions[wildcards.regions]
        return [self._in_data(block["weights"])] if "weights" in block else []

    def regions_tables(self, regions: str, corpus: str) -> list[str]:
        """Tables of regions of a corpus. What is read from files is one table: each shard would read all of them."""
        whole = self.regions[regions]["source"] == "files"
        shards = ["0-of-1"] if whole else self.lab.embedding.shards(corpus)
        return [paths.regions(regions, corpus, shard) for shard in shards]

    def _paths(self, regions: str, corpus: str) -> list[str]:
        given = self.regions[regions]["files"][corpus]
        return [given] if isinstance(given, str) else list(given)

    def _in_data(self, path: str) -> str:
        return on_disk(Path(self.lab.data) / path)

    # --------------------------------------------------------------------------------------------- scorers
    def scorers_of(self, kind: str) -> str:
        """Regular expression of the scorers that are imported, trained or an encoder."""
        return any_of(n for n, s in self.scorers.items() if scorer_kind(s) == kind)

    def folder(self, scorer: str) -> list[str]:
        """The files of a scorer; all lie in one folder, which `captionlab.scorers.store.load_scorer` takes."""
        words = [] if scorer_kind(self.scorers[scorer]) == "encoder" else ["vocab.txt"]
        return [paths.scorer(file, scorer) for file in ("config.json", "model.safetensors", *words)]

    def features(self, scorer: str, corpus: str) -> list[str]:
        """The tables that `captionlab.scorers.images.ScorerImages` reads: regions, embeddings or the images."""
        block = self.scorers[scorer]
        reads = families.scorers()[block["family"]].reads
        if reads == "embeddings":
            return self.lab.embedding.features(block["encoder"], corpus)
        return [paths.corpus("images", corpus)] if reads == "pixels" else self.regions_tables(block["regions"], corpus)

    def modules(self, *scorers: str) -> list[str]:
        """Modules that scorers load by name, for fingerprints of code."""
        own = families.modules("scorers", (self.scorers[scorer]["family"] for scorer in scorers))
        return sorted({*own, *self.lab.embedding.modules(*self._encoders(scorers))})

    def _encoders(self, scorers: Iterable[str]) -> list[str]:
        return [self.scorers[scorer]["encoder"] for scorer in scorers if scorer_kind(self.scorers[scorer]) == "encoder"]

    def libraries(self, *scorers: str) -> list[str]:
        """Libraries whose versions matter to these scorers."""
        own = (name for scorer in scorers for name in families.scorers()[self.scorers[scorer]["family"]].libraries)
        return sorted({"torch", "tokenizers", *own, *self.lab.embedding.libraries(*self._encoders(scorers))})

    def scorer_code(self, script: str) -> Callable[[Wildcards], str]:
        """Fingerprint of a script that loads the family of a scorer by name."""
        return lambda wildcards: self.lab.code(script, *self.modules(wildcards.scorer))

    def scorer_versions(self, wildcards: Wildcards) -> dict[str, str]:
        """Versions of the libraries that a scorer needs."""
        return self.lab.versions(*self.libraries(wildcards.scorer))

    def scorer_block(self, wildcards: Wildcards) -> Block:
        """What the import or training of a scorer depends on, files and names aside."""
        block = {key: value for key, value in self.scorers[wildcards.scorer].items() if key not in _NAMES}
        if "negatives" in block:
            block["negatives"] = {key: value for key, value in block["negatives"].items() if key != "encoder"}
        return normalise(block)

    def scorer_seed(self, wildcards: Wildcards) -> int:
        """Seed of a scorer's training."""
        return int(self.scorers[wildcards.scorer].get("seed", self.lab.config["seed"]))

    def scorer_file(self, key: str) -> Callable[[Wildcards], str]:
        """A file that a scorer is imported from: weights or vocabulary."""
        return lambda wildcards: self._in_data(self.scorers[wildcards.scorer][key])

    def scorer_encoder(self, file: str) -> Callable[[Wildcards], str]:
        """A file of the encoder that a scorer is."""
        return lambda wildcards: paths.encoder(file, self.scorers[wildcards.scorer]["encoder"])

    def training_table(self, table: str) -> Callable[[Wildcards], str]:
        """A table of the corpus that a scorer is trained on."""
        return lambda wildcards: paths.corpus(table, self.scorers[wildcards.scorer]["corpus"])

    def training_regions(self, wildcards: Wildcards) -> list[str]:
        """Tables of regions of the corpus that a scorer is trained on."""
        block = self.scorers[wildcards.scorer]
        return self.regions_tables(block["regions"], block["corpus"])

    def training_neighbours(self, wildcards: Wildcards) -> list[str]:
        """Feature tables that say which images of that corpus are alike."""
        block = self.scorers[wildcards.scorer]
        return self.lab.embedding.features(block["negatives"]["encoder"], block["corpus"])

    def training_encoder(self, file: str) -> Callable[[Wildcards], list[str]]:
        """A file of the encoder that word pieces start from, which is that of the regions; none for a random start."""
        return lambda wildcards: [paths.encoder(file, e) for e in self._words_encoder(wildcards)]

    def _words_encoder(self, wildcards: Wildcards) -> list[str]:
        block = self.scorers[wildcards.scorer]
        aligned = block.get("word_embeddings") == "encoder"
        return [self.regions[block["regions"]]["encoder"]] if aligned else []

    def training_code(self, script: str) -> Callable[[Wildcards], str]:
        """Fingerprint of the script that trains a scorer, with the encoder that its word pieces start from."""

        def code(wildcards: Wildcards) -> str:
            encoders = self.lab.embedding.modules(*self._words_encoder(wildcards))
            return self.lab.code(script, *self.modules(wildcards.scorer), *encoders)

        return code

    def training_versions(self, wildcards: Wildcards) -> dict[str, str]:
        """Versions of the libraries that matter to a training: numpy draws the pairs."""
        encoders = self.lab.embedding.libraries(*self._words_encoder(wildcards))
        return self.lab.versions("numpy", *encoders.union(self.libraries(wildcards.scorer)))

    def training_split(self, wildcards: Wildcards) -> str:
        """The split of that corpus that a trained scorer is examined on."""
        return self.lab.evaluation_split(self.scorers[wildcards.scorer]["corpus"])

    # ----------------------------------------------------------------------------------------- evaluations
    def evaluated(self, wildcards: Wildcards) -> list[str]:
        """Scorers of an evaluation."""
        return list(self.lab.evaluations[wildcards.evaluation].get("scorers", []))

    def evaluated_folders(self, wildcards: Wildcards) -> list[str]:
        """All files of all scorers of an evaluation."""
        return [path for scorer in self.evaluated(wildcards) for path in self.folder(scorer)]

    def evaluated_features(self, wildcards: Wildcards) -> list[str]:
        """The tables of every corpus of an evaluation that its scorers read."""
        corpora = self.lab.evaluations[wildcards.evaluation]["corpora"]
        found = [path for name in self.evaluated(wildcards) for c in corpora for path in self.features(name, c)]
        return list(dict.fromkeys(found))

    def evaluated_sources(self, wildcards: Wildcards) -> Block:
        """For each scorer of an evaluation, the tables that it reads of each corpus."""
        corpora = self.lab.evaluations[wildcards.evaluation]["corpora"]
        return {name: {c: self.features(name, c) for c in corpora} for name in self.evaluated(wildcards)}

    def evaluated_code(self, script: str) -> Callable[[Wildcards], str]:
        """Fingerprint of a script that loads the scorers of an evaluation."""
        return lambda wildcards: self.lab.code(script, *self.modules(*self.evaluated(wildcards)))

    def evaluated_versions(self, wildcards: Wildcards) -> dict[str, str]:
        """Versions of the libraries that these scorers need."""
        return self.lab.versions(*self.libraries(*self.evaluated(wildcards)))


def _factor(scorer: Block) -> float:
    """A probability and a cosine become per cent; by the default of CLIP's family they are already."""
    scale = float(scorer.get("scale", PER_CENT if scorer["family"] == "clip" else 1.0))
    return 1.0 if scale >= PER_CENT else PER_CENT
