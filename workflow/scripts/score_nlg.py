"""Score the captions of all captioners of an evaluation by BLEU, METEOR, ROUGE-L and CIDEr, corpus by corpus."""

from collections import defaultdict
from contextlib import nullcontext
from itertools import chain

from captionlab.evaluation.metrics.nlg.metric import NLG, meteor_process, score_corpus
from captionlab.evaluation.references import read_references
from captionlab.jobs.progress import progress
from captionlab.jobs.scripting import script
from captionlab.judgements.schemas import CANDIDATES
from captionlab.storage.schemas import TOKENS
from captionlab.storage.tables import TableWriter, read_table


def texts_of(corpora, tables, references):
    """Yield the tokens of all captions and references of some corpora."""
    for path in tables:
        for row in read_table(path, TOKENS, ["corpus", "tokens"]).to_pylist():
            if row["corpus"] in corpora:
                yield row["tokens"]
    for corpus in corpora:
        yield from chain.from_iterable(references[corpus].values())


@script
def main(snakemake):
    params, tables = snakemake.params, zip(snakemake.params.corpora, snakemake.input.references, strict=True)
    references = {corpus: read_references(path, params.references_per_image) for corpus, path in tables}
    judgements = {
        (row["image_id"], row["caption_index"]): row["judgements"]
        for path in snakemake.input.judged
        for row in read_table(path, CANDIDATES).to_pylist()
    }
    captioners = list(zip(params.captioners, snakemake.input.tokens, strict=True))
    every = texts_of(params.english, snakemake.input.tokens, references)
    starting = meteor_process(every) if params.english else nullcontext()
    with starting as meteor, TableWriter(snakemake.output[0], NLG) as writer:
        for captioner, path in progress(captioners, "captioners", len(captioners)):
            captions = defaultdict(dict)
            for row in read_table(path, TOKENS).to_pylist():
                captions[row["corpus"]][row["image_id"], row["caption_index"]] = row["tokens"]
            for corpus, of_corpus in references.items():
                asked = meteor if corpus in params.english else None
                writer.write(score_corpus(captioner, corpus, captions[corpus], of_corpus, asked, judgements))
