"""Take in captions that no captioner of this workflow makes: files of captions, or what people wrote."""

from captionlab.generation.captions import evaluated_images, file_rows, joined, reference_rows
from captionlab.schemas import GENERATED, IMAGES
from captionlab.scripting import script
from captionlab.tables import read_table, write_table


@script
def main(snakemake):
    config = snakemake.params.config
    human = config["family"] == "human"
    captions = snakemake.input.captions if human else snakemake.input.files
    parts = []
    for corpus, split, images, references, path in zip(
        snakemake.params.corpora,
        snakemake.params.splits,
        snakemake.input.images,
        snakemake.input.captions,
        captions,
        strict=True,
    ):
        ids = evaluated_images(images, corpus, split, references)
        if human:
            parts.append(reference_rows(path, ids, corpus, each=config["reference"] == "each"))
        else:
            known = read_table(images, IMAGES, columns=["image_id"])["image_id"].to_pylist()
            parts.append(file_rows(path, ids, known, corpus))
    write_table(snakemake.output[0], GENERATED, joined(parts))
