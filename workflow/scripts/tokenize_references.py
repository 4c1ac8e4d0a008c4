"""Tokenise the references of the evaluated split of a corpus as in the Penn treebank, in the order of its images.

The paraphrases of METEOR that these can match are looked up too, once on a machine for the same references.
"""

from importlib.resources import files

from captionlab.cache import once
from captionlab.evaluation.paraphrases import paraphrases_of
from captionlab.evaluation.ptb import tokenize
from captionlab.evaluation.schemas import PARAPHRASES
from captionlab.files import digest
from captionlab.schemas import CAPTIONS, IMAGES, TOKENS
from captionlab.scripting import script
from captionlab.tables import read_table, write_table


@script
def main(snakemake):
    images = read_table(snakemake.input.images, IMAGES, ["image_id", "position", "split"]).to_pylist()
    split = snakemake.params.split
    position = {row["image_id"]: row["position"] for row in images if row["split"] == split}
    every = read_table(snakemake.input.captions, CAPTIONS).to_pylist()
    captions = [row for row in every if row["image_id"] in position]
    if every and not captions:  # a corpus that nobody described has none at all
        raise ValueError(f"{snakemake.input.captions}: no caption belongs to an image of the split {split!r}")
    captions.sort(key=lambda row: (position[row["image_id"]], row["caption_index"]))
    keys = {name: [row[name] for row in captions] for name in ("image_id", "caption_index")}
    corpus, tokens = [snakemake.wildcards.corpus] * len(captions), tokenize([row["caption"] for row in captions])
    output = snakemake.output
    write_table(output.tokens, TOKENS, {"corpus": corpus, **keys, "tokens": tokens})

    def look_up() -> None:
        found = paraphrases_of(tokens, files("pycocoevalcap.meteor") / "data" / "paraphrase-en.gz")
        write_table(output.paraphrases, PARAPHRASES, found)

    once([dict(snakemake.params.items()), digest(output.tokens)], [output.paraphrases], look_up)
