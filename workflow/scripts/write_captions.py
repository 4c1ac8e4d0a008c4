"""Let a captioner that only writes texts describe the images of an evaluation, of all its corpora."""

from captionlab.generation.captions import evaluated_images, joined
from captionlab.generation.writing import written_captions
from captionlab.jobs.scripting import script
from captionlab.plugins import family_class
from captionlab.storage import paths
from captionlab.storage.schemas import GENERATED
from captionlab.storage.tables import write_table


@script
def main(snakemake):
    params, inputs = snakemake.params, snakemake.input
    family = params.config["family"]
    writer = family_class("captioners", family)({**params.config, **dict(zip(params.files, inputs.files, strict=True))})
    described = {paths.owner_of(path): path for path in inputs.described}
    images = {
        corpus: (evaluated_images(table, corpus, split, described.get(corpus)), table)
        for corpus, split, table in zip(params.corpora, params.splits, inputs.images, strict=True)
    }
    captions = joined([*written_captions(writer, snakemake.wildcards.captioner, images)])
    write_table(snakemake.output[0], GENERATED, captions)
