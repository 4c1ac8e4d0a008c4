"""Join the shards of a captioner's captions for an evaluation, in the order of a single job.

The order is by corpus, and by image within a corpus.
"""

import numpy as np

from captionlab.jobs.scripting import script
from captionlab.storage.schemas import GENERATED
from captionlab.storage.tables import read_metadata, read_table, write_table


@script
def main(snakemake):
    captions = read_table(snakemake.input, GENERATED)
    place = {corpus: number for number, corpus in enumerate(snakemake.params.corpora)}
    order = np.argsort([place[corpus] for corpus in captions["corpus"].to_pylist()], kind="stable")
    metadata = [read_metadata(path) for path in snakemake.input]
    device = ", ".join(sorted({each["device"] for each in metadata}))
    write_table(snakemake.output[0], GENERATED, captions.take(order), {**metadata[0], "device": device})
