"""Let a captioner describe the images of an evaluation, all its corpora, or a shard of each."""

from pathlib import Path

from captionlab import paths
from captionlab.captioners.store import load_captioner
from captionlab.generation.captioning import caption_images
from captionlab.generation.captions import evaluated_images, joined
from captionlab.generation.contract import Decoding
from captionlab.provenance import device_name
from captionlab.schemas import GENERATED
from captionlab.scripting import device, script
from captionlab.shards import shard_number, shard_rows
from captionlab.tables import write_table


@script
def main(snakemake):
    captioner, tokenizer = load_captioner(Path(snakemake.input.config).parent, device())
    decoding = Decoding.from_config(snakemake.params.decoding)
    described = {paths.owner_of(path): path for path in snakemake.input.described}
    shard, parts = snakemake.params.shard, []
    for corpus, split, images in zip(
        snakemake.params.corpora, snakemake.params.splits, snakemake.input.images, strict=True
    ):
        ids = evaluated_images(images, corpus, split, described.get(corpus))
        ids = ids[shard_rows(shard, len(ids))]
        features = [path for path in snakemake.input.features if paths.owner_of(path) == corpus]
        # Shards must not draw the same numbers.
        seed = snakemake.params.seed + shard_number(shard)
        if ids:
            parts.append(caption_images(captioner, tokenizer, ids, features, decoding, corpus, seed))
    metadata = {"decoding": dict(snakemake.params.decoding), "device": device_name()}
    captions = joined(parts) if parts else GENERATED.schema.empty_table()
    write_table(snakemake.output[0], GENERATED, captions, metadata)
