"""Ask a model behind a server for captions of the images of an evaluation, of all its corpora."""

from captionlab.config.captioners import ServedCaptioner
from captionlab.config.evaluations import read_decoding
from captionlab.generation.captions import evaluated_images
from captionlab.generation.served import request_captions
from captionlab.jobs.scripting import script
from captionlab.storage import paths
from captionlab.storage.schemas import FAILED_REQUESTS, GENERATED
from captionlab.storage.tables import write_table


@script
def main(snakemake):
    params, name = snakemake.params, snakemake.wildcards.captioner
    # The address, prices and limits are no parameters of the job, so that it does not run again if they change.
    captioner = ServedCaptioner.model_validate(snakemake.config["captioners"][name])
    described = {paths.owner_of(path): path for path in snakemake.input.described}
    images = {
        corpus: (evaluated_images(table, corpus, split, described.get(corpus)), table)
        for corpus, split, table in zip(params.corpora, params.splits, snakemake.input.images, strict=True)
    }
    served = request_captions(captioner, name, images, read_decoding(params.decoding), params.seed)
    metadata = {"decoding": dict(params.decoding), "device": f"server of {captioner.model}"}
    write_table(snakemake.output.captions, GENERATED, served.captions, metadata)
    write_table(snakemake.output.failures, FAILED_REQUESTS, served.failures)
