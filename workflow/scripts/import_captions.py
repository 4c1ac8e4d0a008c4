"""Store captions that no captioner of this workflow makes: captions from files, or references by people."""

from captionlab.generation.captions import evaluated_images, file_rows, joined, reference_rows
from captionlab.jobs.scripting import script
from captionlab.storage.schemas import GENERATED, IMAGES
from captionlab.storage.tables import read_table, write_table


@script
def main(snakemake):
    inputs, params, config = snakemake.input, snakemake.params, snakemake.params.config
    human, parts = config["family"] == "human", []
    captions = inputs.captions if human else inputs.files
    evaluated = zip(params.corpora, params.splits, inputs.images, inputs.captions, captions, strict=True)
    for corpus, split, images, references, path in evaluated:
        ids = evaluated_images(images, corpus, split, references)
        if human:
            parts.append(reference_rows(path, ids, corpus, each=config["reference"] == "each"))
        else:
            # With a limit, the corpus lacks images that the file rightly has.
            limited = params.get("limit") is not None
            known = None if limited else read_table(images, IMAGES, columns=["image_id"])["image_id"].to_pylist()
            parts.append(file_rows(path, ids, known, corpus))
    write_table(snakemake.output[0], GENERATED, joined(parts))
