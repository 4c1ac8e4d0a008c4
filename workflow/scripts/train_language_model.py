"""Train a trigram language model on the captions of some splits of a corpus, with the defaults of SRILM."""

from captionlab.evaluation.tokenizers import tokenize
from captionlab.jobs.scripting import script
from captionlab.storage.schemas import CAPTIONS, IMAGES
from captionlab.storage.tables import read_table
from captionlab.texts.arpa import write_arpa
from captionlab.texts.ngram import train


@script
def main(snakemake):
    images = read_table(snakemake.input.images, IMAGES, ["image_id", "split"]).to_pylist()
    wanted = {row["image_id"] for row in images if row["split"] in snakemake.params.splits}
    rows = read_table(snakemake.input.captions, CAPTIONS).to_pylist()
    captions = [row["caption"] for row in rows if row["image_id"] in wanted]
    if not captions:
        splits = ", ".join(snakemake.params.splits)
        raise ValueError(f"{snakemake.input.captions}: no caption belongs to an image of the splits {splits}")
    tokenized = tokenize(captions, snakemake.params.tokenizer)
    write_arpa(train(tokens.split(" ") if tokens else [] for tokens in tokenized), snakemake.output[0])
