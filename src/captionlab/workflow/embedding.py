"""What the jobs of encoders and features read, and the part of the config that each depends on.

A rule names a method of `Embedding` as its input function or parameter; Snakemake calls it with the wildcards.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from captionlab import paths
from captionlab.shards import shard_names
from captionlab.workflow import families
from captionlab.workflow.blocks import Block, any_of, normalise, without
from captionlab.workflow.resources import on_disk

if TYPE_CHECKING:
    from captionlab.workflow.experiments import Experiments


class Wildcards(Protocol):
    """The wildcard of a job of an encoder."""

    encoder: str


class Embedding:
    """The encoders of a config, and the feature tables that they make."""

    def __init__(self, lab: "Experiments"):
        self.lab = lab

    def encoders_with_weights(self, weights: bool) -> str:
        """Regular expression of the encoders that are imported, or of those trained here."""
        own = (name for name, encoder in self.lab.encoders.items() if "patches_of" not in encoder)
        return any_of(name for name in own if ("weights" in self.lab.encoders[name]) == weights)

    def block(self, wildcards: Wildcards) -> Block:
        """What an encoder's training or import depends on, the corpus by name aside."""
        return normalise(without(self.lab.encoders[wildcards.encoder], "corpus", "seed"))

    def _seen_by(self, wildcards: Wildcards) -> str:
        return str(self.lab.encoders[wildcards.encoder].get("patches_of", wildcards.encoder))

    def seeing(self, file: str) -> Callable[[Wildcards], str]:
        """A file of an encoder, or of that whose grid it is."""
        return lambda wildcards: paths.encoder(file, self._seen_by(wildcards))

    def is_patches(self, wildcards: Wildcards) -> bool:
        """Whether an encoder gives a vector for each place of an image."""
        return "patches_of" in self.lab.encoders[wildcards.encoder]

    def code(self, script: str, part: str = "") -> Callable[[Wildcards], str]:
        """Fingerprint of a script that loads the module of the encoder's family by name, or another `part` of it."""
        return lambda wildcards: self.lab.code(script, *(name + part for name in self.modules(wildcards.encoder)))

    def modules(self, *encoders: str) -> list[str]:
        """Modules that encoders, or those whose grids they are, load by name, for fingerprints of code."""
        return families.modules("encoders", map(self._family_of, encoders))

    def libraries(self, *encoders: str) -> set[str]:
        """Libraries whose versions matter to what encoders compute."""
        return {name for encoder in encoders for name in families.encoders()[self._family_of(encoder)].libraries}

    def _family_of(self, encoder: str) -> str:
        return str(self.lab.encoders[self.lab.encoders[encoder].get("patches_of", encoder)]["family"])

    def seed(self, wildcards: Wildcards) -> int:
        """Seed of an encoder's training."""
        return int(self.lab.encoders[wildcards.encoder].get("seed", self.lab.config["seed"]))

    def versions(self, *libraries: str) -> Callable[[Wildcards], dict[str, str]]:
        """Versions of the libraries that matter to the jobs of an encoder, its family's included."""
        return lambda wildcards: self.lab.versions(*libraries, *self.libraries(wildcards.encoder))

    def corpus(self, table: str) -> Callable[[Wildcards], str]:
        """A table of the corpus that an encoder is trained on."""
        return lambda wildcards: paths.corpus(table, self.lab.encoders[wildcards.encoder]["corpus"])

    def pixels(self, wildcards: Wildcards, input: Mapping[str, Any]) -> int:
        """Bytes of all images of the corpus that an encoder is trained on, at the size at which it sees them."""
        import pyarrow.parquet as pq

        size = self.lab.encoders[wildcards.encoder]["architecture"]["vision_cfg"]["image_size"]
        return int(pq.read_metadata(input["images"]).num_rows * 3 * size**2)

    def weights(self, wildcards: Wildcards) -> list[str]:
        """The files that an encoder is imported from; nothing when open_clip downloads it by its published name."""
        return [on_disk(Path(self.lab.data) / file) for file in self._files(wildcards.encoder).values()]

    def missing_files(self) -> list[str]:
        """A sentence for each file that an encoder is imported from and that is not there."""
        files = {
            f"encoders.{name}.{key}": file for name in self.lab.encoders for key, file in self._files(name).items()
        }
        return [
            f"{key}: no such file {path}" for key, path in files.items() if not (Path(self.lab.data) / path).is_file()
        ]

    def _files(self, encoder: str) -> dict[str, str]:
        """The files that an encoder is imported from; weights with the name of a model are a tag, which is none."""
        block = self.lab.encoders[encoder]
        if "weights" not in block or "model" in block:
            return {}
        return {key: block[key] for key in families.encoders()[block["family"]].files}

    def shards(self, corpus: str) -> list[str]:
        """Names of the shards that a corpus is embedded in."""
        return shard_names(self.lab.corpora[corpus].get("shards", 1))

    def features(self, encoder: str, corpus: str) -> list[str]:
        """Feature tables of a corpus."""
        return [paths.features(encoder, corpus, shard) for shard in self.shards(corpus)]
