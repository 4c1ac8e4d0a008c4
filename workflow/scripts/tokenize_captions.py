"""Tokenise the captions of a captioner for an evaluation by the tokenisers of the corpora."""

from captionlab.evaluation.tokenizers import tokenize_corpora
from captionlab.jobs.scripting import script
from captionlab.storage.schemas import GENERATED, TOKENS
from captionlab.storage.tables import read_table, write_table


@script
def main(snakemake):
    keys = ["corpus", "image_id", "caption_index"]
    captions = read_table(snakemake.input[0], GENERATED, [*keys, "caption"])
    texts = zip(captions["corpus"].to_pylist(), captions["caption"].to_pylist(), strict=True)
    tokens = tokenize_corpora(texts, snakemake.params.tokenizers)
    write_table(snakemake.output[0], TOKENS, {**{key: captions[key] for key in keys}, "tokens": tokens})
