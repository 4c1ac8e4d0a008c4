"""Caption the images of an evaluation, of all its corpora, or a shard of each corpus."""

from captionlab.captioners.store import load_captioner
from captionlab.config.evaluations import read_decoding
from captionlab.generation.captioning import caption_images
from captionlab.generation.captions import evaluated_images, joined
from captionlab.jobs.provenance import device_name
from captionlab.jobs.scripting import device, folder_of, script
from captionlab.storage import paths
from captionlab.storage.schemas import GENERATED
from captionlab.storage.shards import shard_number, shard_rows
from captionlab.storage.tables import write_table


@script
def main(snakemake):
    captioner, tokenizer = load_captioner(folder_of(snakemake.input.config), device())
    params, decoding = snakemake.params, read_decoding(snakemake.params.decoding)
    described = {paths.owner_of(path): path for path in snakemake.input.described}
    shard, parts = params.shard, []
    for corpus, split, images in zip(params.corpora, params.splits, snakemake.input.images, strict=True):
        ids = evaluated_images(images, corpus, split, described.get(corpus))
        ids = ids[shard_rows(shard, len(ids))]
        features = [path for path in snakemake.input.features if paths.owner_of(path) == corpus]
        # Shards must not draw the same random numbers.
        seed = params.seed + shard_number(shard)
        if ids:
            parts.append(caption_images(captioner, tokenizer, ids, features, decoding, corpus, seed))
    captions = joined(parts) if parts else GENERATED.schema.empty_table()
    metadata = {"decoding": dict(params.decoding), "device": device_name()}
    write_table(snakemake.output[0], GENERATED, captions, metadata)
