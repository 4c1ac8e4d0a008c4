"""Score the captions of a captioner for an evaluation by BLEU, METEOR, ROUGE-L and CIDEr, corpus by corpus."""

import logging
import tempfile
from collections import defaultdict
from contextlib import ExitStack
from itertools import chain
from pathlib import Path

from captionlab.evaluation.metrics.nlg import NLG, kinds_of_meteor, meteor_process, score_corpus
from captionlab.evaluation.paraphrases import write_paraphrases
from captionlab.evaluation.references import read_references
from captionlab.schemas import TOKENS
from captionlab.scripting import script
from captionlab.tables import TableWriter, read_table


@script
def main(snakemake):
    captions = defaultdict(dict)
    for row in read_table(snakemake.input.tokens, TOKENS).to_pylist():
        captions[row["corpus"]][row["image_id"], row["caption_index"]] = row["tokens"]
    params, tables = snakemake.params, zip(snakemake.params.corpora, snakemake.input.references, strict=True)
    references = {corpus: read_references(path, params.references_per_image) for corpus, path in tables}
    texts = chain.from_iterable(captions[corpus].values() for corpus in params.corpora)
    with ExitStack() as stack:
        paraphrases = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="meteor-"))) / "paraphrases.gz"
        kept = write_paraphrases(texts, snakemake.input.paraphrases, paraphrases)
        logging.getLogger(__name__).info("METEOR reads the %d paraphrases that these texts can contain", kept)
        # METEOR without its rules of punctuation takes half the time, and texts of words alone need none.
        asked = (
            [caption, *of_corpus.get(image, ())]
            for corpus, of_corpus in references.items()
            for (image, _), caption in captions[corpus].items()
        )
        kinds = kinds_of_meteor(asked) * snakemake.threads
        meteors = [stack.enter_context(meteor_process(paraphrases, bare)) for bare in kinds]
        writer = stack.enter_context(TableWriter(snakemake.output[0], NLG))
        for corpus, of_corpus in references.items():
            writer.write(score_corpus(corpus, captions[corpus], of_corpus, *meteors))
