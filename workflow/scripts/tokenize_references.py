"""Tokenise the references of the evaluated split of a corpus by its tokeniser, in the order of its images."""

from captionlab.evaluation.tokenizers import tokenize_corpora
from captionlab.jobs.scripting import script
from captionlab.storage.schemas import CAPTIONS, IMAGES, TOKENS
from captionlab.storage.tables import read_table, write_table


@script
def main(snakemake):
    images = read_table(snakemake.input.images, IMAGES, ["image_id", "position", "split"]).to_pylist()
    split = snakemake.params.split
    position = {row["image_id"]: row["position"] for row in images if row["split"] == split}
    every = read_table(snakemake.input.captions, CAPTIONS).to_pylist()
    captions = [row for row in every if row["image_id"] in position]
    if every and not captions:  # a corpus without references has no captions at all
        raise ValueError(f"{snakemake.input.captions}: no caption belongs to an image of the split {split!r}")
    captions.sort(key=lambda row: (position[row["image_id"]], row["caption_index"]))
    keys = {name: [row[name] for row in captions] for name in ("image_id", "caption_index")}
    corpus = [snakemake.wildcards.corpus] * len(captions)
    texts = zip(corpus, (row["caption"] for row in captions), strict=True)
    tokens = tokenize_corpora(texts, snakemake.params.tokenizers)
    write_table(snakemake.output[0], TOKENS, {"corpus": corpus, **keys, "tokens": tokens})
