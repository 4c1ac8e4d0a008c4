"""Tokenise the captions of a captioner for an evaluation as in the Penn treebank."""

from captionlab.evaluation.ptb import tokenize
from captionlab.jobs.scripting import script
from captionlab.storage.schemas import GENERATED, TOKENS
from captionlab.storage.tables import read_table, write_table


@script
def main(snakemake):
    keys = ["corpus", "image_id", "caption_index"]
    captions = read_table(snakemake.input[0], GENERATED, [*keys, "caption"])
    tokens = tokenize(captions["caption"].to_pylist())
    write_table(snakemake.output[0], TOKENS, {**{key: captions[key] for key in keys}, "tokens": tokens})
