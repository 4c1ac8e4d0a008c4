"""Regions and tags of a config: what their jobs read, what they depend on, and the tables of them that models read."""

from collections.abc import Callable

from captionlab import paths
from captionlab.config.papers import listed
from captionlab.shards import shard_names
from captionlab.workflow.basis import Basis, Wildcards
from captionlab.workflow.blocks import root_of
from captionlab.workflow.embedding import Embedding


class Regions:
    """The regions and tags of a config, beside embeddings what models read of an image."""

    def __init__(self, basis: Basis, embedding: Embedding):
        self.basis, self.embedding, self.regions = basis, embedding, basis.config["regions"]

    def objects(self, kind: str) -> Callable[[Wildcards], list[str]]:
        """The table of annotated objects, where the regions or tags of a job are of these."""

        def table(wildcards: Wildcards) -> list[str]:
            annotated = self.basis.block_of(kind, wildcards)["source"] in ("boxes", "objects")
            return [paths.corpus("objects", wildcards.corpus)] if annotated else []

        return table

    def pooled(self, wildcards: Wildcards) -> list[str]:
        """The encoder whose features are pooled in boxes, if any."""
        return listed(self.regions[wildcards.regions].get("encoder", []))

    def labelling(self, wildcards: Wildcards) -> list[str]:
        """Tables of the regions whose labels are the tags."""
        regions = self.basis.config["tags"][wildcards.tags].get("regions")
        return self.tables(regions, wildcards.corpus) if regions else []

    def tables(self, regions: str, corpus: str) -> list[str]:
        """Tables of regions of a corpus. What is read from files is one table: each shard would read all of them."""
        shards = 1 if self.regions[regions]["source"] == "files" else self.basis.corpora[corpus]["shards"]
        return [paths.regions(regions, corpus, shard) for shard in shard_names(shards)]

    def captioner_tables(self, captioner: str, corpus: str) -> list[str]:
        """Tables of a corpus that a captioner reads: embeddings by its encoder, regions and tags, or images."""
        block = self.basis.captioners[root_of(self.basis.config, captioner)]
        if "encoder" in block:
            return self.embedding.features(block["encoder"], corpus)
        if "regions" not in block:
            return [paths.corpus("images", corpus)]
        tags = [paths.tags(block["tags"], corpus)] if "tags" in block else []
        return [*self.tables(block["regions"], corpus), *tags]
