"""What the jobs of encoders and embeddings read, and the part of the config that each depends on.

Here and in the other parts of the graph a rule names a method as its input function or parameter; Snakemake calls it
with the wildcards.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from captionlab import paths
from captionlab.shards import shard_names
from captionlab.workflow import families
from captionlab.workflow.basis import Basis, Loaded, Wildcards, loaded


class Embedding:
    """The encoders of a config, and the feature tables that they make."""

    def __init__(self, basis: Basis):
        self.basis, self.encoders = basis, basis.encoders

    def seeing(self, file: str) -> Callable[[Wildcards], str]:
        """A file of an encoder, or of that whose patch features it has."""
        return lambda wildcards: paths.encoder(file, self._seen_by(wildcards.encoder))

    def loaded(self, encoders: Iterable[str]) -> Loaded:
        """What a script loads that uses these encoders, or those whose patch features they have; not how to import."""
        named = (self.encoders[self._seen_by(encoder)]["family"] for encoder in encoders)
        return loaded("encoders", named, "FAMILY")

    def imported(self, wildcards: Wildcards) -> Loaded:
        """What the script loads that imports the encoder of a job."""
        return loaded("encoders", [self.encoders[wildcards.encoder]["family"]], "import_weights")

    def file_of(self, named: Callable[[Wildcards], Iterable[str]], file: str) -> Callable[[Wildcards], list[str]]:
        """A file of each encoder that a function names for a job."""
        return lambda wildcards: [paths.encoder(file, encoder) for encoder in named(wildcards)]

    def used(self, wildcards: Wildcards) -> Loaded:
        """What a script loads that uses the encoder of a job."""
        return self.loaded([wildcards.encoder])

    def _seen_by(self, encoder: str) -> str:
        return str(self.encoders[encoder].get("patches_of", encoder))

    def pixels(self, wildcards: Wildcards, input: Mapping[str, Any]) -> int:
        """Bytes of all images of the corpus that an encoder is trained on, at the size at which it sees them."""
        import pyarrow.parquet as pq

        size = self.encoders[wildcards.encoder]["architecture"]["vision_cfg"]["image_size"]
        return int(pq.read_metadata(input["images"]).num_rows * 3 * size**2)

    def weights(self, wildcards: Wildcards) -> list[str]:
        """The files that an encoder is imported from; nothing when open_clip downloads it by its published name."""
        return [self.basis.given(file) for _, file in self._files(wildcards.encoder)]

    def files(self) -> Iterator[tuple[str, str]]:
        """The files that encoders are imported from, by their keys."""
        for name in self.encoders:
            yield from self._files(name)

    def _files(self, encoder: str) -> Iterator[tuple[str, str]]:
        block = self.encoders[encoder]
        if "model" not in block:  # weights with the name of a model are a tag and no file
            keys = dict.fromkeys(key for family in families.encoders().values() for key in family.files if key in block)
            yield from ((f"encoders.{encoder}.{'run' if 'run' in block else key}", block[key]) for key in keys)

    def features(self, encoder: str, corpus: str) -> list[str]:
        """Feature tables of a corpus."""
        shards = shard_names(self.basis.corpora[corpus]["shards"])
        return [paths.features(encoder, corpus, shard) for shard in shards]

    def searched(self, wildcards: Wildcards) -> list[str]:
        """Feature tables in which neighbours of images are looked for."""
        return self.features(wildcards.encoder, wildcards.corpus)
