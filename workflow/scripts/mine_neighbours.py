"""Find, for each training image of a corpus, the other images that are most similar to it by an encoder."""

from captionlab.encoders.embeddings import load_embeddings
from captionlab.encoders.neighbours import NEIGHBOURS, nearest, neighbour_columns
from captionlab.jobs.scripting import device, script
from captionlab.storage.tables import write_table
from captionlab.training.loop.data import training_images


@script
def main(snakemake):
    ids = training_images(snakemake.input.images)
    embeddings = load_embeddings(snakemake.input.features, ids).values.to(device())
    rows, similarities = nearest(embeddings, int(snakemake.wildcards.neighbours))
    write_table(snakemake.output[0], NEIGHBOURS, neighbour_columns(ids, rows, similarities))
