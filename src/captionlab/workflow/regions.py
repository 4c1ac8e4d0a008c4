"""Regions and tags of a config: what their jobs read, what they depend on, and the tables of them that models read."""

from collections.abc import Callable, Iterator

from captionlab import paths
from captionlab.workflow.basis import Basis, Loaded, Wildcards, listed
from captionlab.workflow.blocks import Block, any_of, normalise, root_of, without
from captionlab.workflow.embedding import Embedding


class Regions:
    """The regions and tags of a config, beside embeddings what models read of an image."""

    def __init__(self, basis: Basis, embedding: Embedding):
        self.basis, self.embedding = basis, embedding
        self.regions: Block = basis.config["regions"]
        self.tags: Block = basis.config["tags"]

    def files(self) -> Iterator[tuple[str, str]]:
        """The files or folders that regions come from, by their keys."""
        for name, block in self.regions.items():
            if "weights" in block:
                yield f"regions.{name}.weights", block["weights"]
            yield from _files(f"regions.{name}", block)

    def tag_files(self) -> Iterator[tuple[str, str]]:
        """The files that tags come from, by their keys."""
        for name, block in self.tags.items():
            yield from _files(f"tags.{name}", block)

    # --------------------------------------------------------------------------------------------- regions
    def from_source(self, *sources: str) -> str:
        """Regular expression of the regions that come from one of these sources."""
        return any_of(name for name, block in self.regions.items() if block["source"] in sources)

    def block(self, wildcards: Wildcards) -> Block:
        """What the regions of a corpus depend on, files and encoder by name aside."""
        return normalise(without(self.regions[wildcards.regions], "files", "encoder"))

    def read_from(self, wildcards: Wildcards) -> list[str]:
        """Files or folders that the regions of a corpus are read from."""
        return [self.basis.given(path) for path in listed(self.regions[wildcards.regions]["files"][wildcards.corpus])]

    def objects(self, wildcards: Wildcards) -> list[str]:
        """The table of annotated objects, where regions are pooled in their boxes."""
        given = self.regions[wildcards.regions]["source"] == "boxes"
        return [paths.corpus("objects", wildcards.corpus)] if given else []

    def encoder(self, file: str) -> Callable[[Wildcards], list[str]]:
        """A file of the encoder whose features are pooled."""
        return lambda wildcards: [paths.encoder(file, name) for name in self._pooled(wildcards)]

    def loaded(self, wildcards: Wildcards) -> Loaded:
        """What a script loads that uses this encoder."""
        return self.embedding.loaded(self._pooled(wildcards))

    def _pooled(self, wildcards: Wildcards) -> list[str]:
        return listed(self.regions[wildcards.regions].get("encoder", []))

    def weights(self, wildcards: Wildcards) -> list[str]:
        """The weights of a detector."""
        return [self.basis.given(path) for path in listed(self.regions[wildcards.regions].get("weights", []))]

    def tables(self, regions: str, corpus: str) -> list[str]:
        """Tables of regions of a corpus. What is read from files is one table: each shard would read all of them."""
        whole = self.regions[regions]["source"] == "files"
        shards = ["0-of-1"] if whole else self.embedding.shards(corpus)
        return [paths.regions(regions, corpus, shard) for shard in shards]

    # ------------------------------------------------------------------------------------------------ tags
    def tags_block(self, wildcards: Wildcards) -> Block:
        """What the tags of a corpus depend on, files and regions by name aside."""
        return {"source": self.tags[wildcards.tags]["source"]}

    def tags_read_from(self, wildcards: Wildcards) -> list[str]:
        """Files that the tags of a corpus are read from."""
        files = self.tags[wildcards.tags].get("files", {}).get(wildcards.corpus, [])
        return [self.basis.given(path) for path in listed(files)]

    def tags_regions(self, wildcards: Wildcards) -> list[str]:
        """Tables of the regions whose labels are the tags."""
        regions = self.tags[wildcards.tags].get("regions")
        return self.tables(regions, wildcards.corpus) if regions else []

    def tags_objects(self, wildcards: Wildcards) -> list[str]:
        """The table of annotated objects, where these are the tags."""
        annotated = self.tags[wildcards.tags]["source"] == "objects"
        return [paths.corpus("objects", wildcards.corpus)] if annotated else []

    # ------------------------------------------------------------------------------------------ captioners
    def captioner_tables(self, captioner: str, corpus: str) -> list[str]:
        """Tables of a corpus that a captioner reads: embeddings by its encoder, or regions and tags."""
        block = self.basis.captioners[root_of(self.basis.config, captioner)]
        if "encoder" in block:
            return self.embedding.features(block["encoder"], corpus)
        tags = [paths.tags(block["tags"], corpus)] if "tags" in block else []
        return [*self.tables(block["regions"], corpus), *tags]


def _files(where: str, block: Block) -> Iterator[tuple[str, str]]:
    for corpus, files in block.get("files", {}).items():
        yield from ((f"{where}.files.{corpus}", path) for path in listed(files))
