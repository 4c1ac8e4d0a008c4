"""Find the images of each slice of an evaluation."""

from captionlab.evaluation.schemas import SLICED_IMAGES
from captionlab.evaluation.slice_images import LABELS, evaluated_images, labelled_images, valued_images
from captionlab.evaluation.slices import LENGTH
from captionlab.jobs.scripting import script
from captionlab.storage.tables import write_table


@script
def main(snakemake):
    input, params = snakemake.input, snakemake.params
    images = [evaluated_images(*files) for files in zip(input.images, params.splits, strict=True)]
    evaluated = {corpus: ids for corpus, (ids, _) in zip(params.corpora, images, strict=True)}
    known = {corpus: every for corpus, (_, every) in zip(params.corpora, images, strict=True)}
    files, rows = iter(input.files), []
    for by in params.by:
        if by in LABELS:
            tables = zip(params.corpora, input[by], strict=True)
            slices = {corpus: labelled_images(by, path, evaluated[corpus]) for corpus, path in tables}
        elif by != LENGTH:
            slices = valued_images(next(files), by, evaluated, known)
        else:
            continue
        for corpus, of_corpus in slices.items():
            for name, members in of_corpus.items():
                rows += [{"corpus": corpus, "by": by, "slice": name, "image_id": image} for image in members]
    write_table(snakemake.output[0], SLICED_IMAGES, rows)
