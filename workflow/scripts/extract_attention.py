"""Extract the attention of a captioner to the images of a corpus."""

import numpy as np

from captionlab.attention.extraction import extract_attention
from captionlab.attention.schemas import BLOCKS, MATRICES, RECEIVED, SHARES
from captionlab.captioners.store import load_captioner
from captionlab.config.evaluations import read_decoding
from captionlab.generation.captions import evaluated_images
from captionlab.jobs.scripting import device, folder_of, script
from captionlab.storage.tables import write_table


@script
def main(snakemake):
    params, config = snakemake.params, snakemake.params.config
    captioner, tokenizer = load_captioner(folder_of(snakemake.input.config), device())
    images = captioner.open_images(snakemake.input.features, tokenizer)
    ids = evaluated_images(snakemake.input.images, params.corpus, params.split)
    # The same images for every captioner.
    order = np.random.default_rng(params.seed).permutation(len(ids))
    sample = [ids[row] for row in order[: config["images"]]]
    decoding = read_decoding(params.decoding)
    examples = sample[: config["examples"]]
    found = extract_attention(captioner, tokenizer, images, ids, sample, examples, config["layer"], decoding)
    for name, kind in (("blocks", BLOCKS), ("received", RECEIVED), ("shares", SHARES), ("matrices", MATRICES)):
        write_table(snakemake.output[name], kind, found[name])
