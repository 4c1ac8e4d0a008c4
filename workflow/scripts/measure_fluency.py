"""Measure length, repetition, nouns and perplexity of the captions of a captioner, caption by caption and in sum."""

from operator import itemgetter

from captionlab.language.schemas import MEASURES, STATISTICS
from captionlab.language.statistics import caption_measures, corpus_statistics
from captionlab.schemas import TAGGED, TOKENS
from captionlab.scripting import script
from captionlab.tables import TableWriter, read_table
from captionlab.texts.arpa import ArpaError, read_arpa
from captionlab.texts.ngram import score


@script
def main(snakemake):
    model = read_arpa(snakemake.input.model)
    if model.order != 3:
        raise ArpaError(
            f"{snakemake.input.model} has n-grams of up to {model.order} words, and the tables give the perplexity of "
            "a trigram model; train one of order 3"
        )
    rows, key = read_table(snakemake.input.tokens, TOKENS).to_pylist(), itemgetter(*TAGGED.key)
    tagged = {key(row): (row["words"], row["tags"]) for row in read_table(snakemake.input.tags, TAGGED).to_pylist()}
    with (
        TableWriter(snakemake.output.captions, MEASURES) as captions,
        TableWriter(snakemake.output.statistics, STATISTICS) as statistics,
    ):
        for corpus in dict.fromkeys(row["corpus"] for row in rows):
            here = [row for row in rows if row["corpus"] == corpus]
            tokens = [row["tokens"].split(" ") if row["tokens"] else [] for row in here]
            scores = score(model, tokens)
            measures = caption_measures(tokens, [tagged[key(row)] for row in here], scores)
            captions.write({**{name: [row[name] for row in here] for name in TAGGED.key}, **measures})
            found = corpus_statistics(tokens, measures, scores)
            statistics.write([{"corpus": corpus, "statistic": one.name, **vars(one)} for one in found])
