"""Tag the captions of a captioner for an evaluation and, if requested, measure their fluency, words and patterns."""

from contextlib import ExitStack

from captionlab.jobs.progress import progress
from captionlab.jobs.scripting import script
from captionlab.language.following import pattern_rows, read_patterns
from captionlab.language.frequencies import frequency_rows
from captionlab.language.patterns import tagged
from captionlab.language.schemas import MEASURES, NGRAMS, PATTERNS, STATISTICS
from captionlab.language.statistics import caption_measures, corpus_statistics
from captionlab.storage.schemas import GENERATED, TAGGED, TOKENS
from captionlab.storage.tables import TableWriter, read_table, write_table
from captionlab.texts.arpa import ArpaError, read_arpa
from captionlab.texts.ngram import score
from captionlab.texts.tagging import load_tagger, tag


def measure(model, tokens, captions, published, output):
    """Write the tables beside the tags. `tokens` and the tagged `captions` must be in the same order."""
    kinds = {"measures": MEASURES, "statistics": STATISTICS, "patterns": PATTERNS, "unigrams": NGRAMS}
    with ExitStack() as stack:
        writers = {name: stack.enter_context(TableWriter(output[name], kind)) for name, kind in kinds.items()}
        for corpus in dict.fromkeys(row["corpus"] for row in captions):
            here = [(words, row) for words, row in zip(tokens, captions, strict=True) if row["corpus"] == corpus]
            words, rows = map(list, zip(*here, strict=True))
            scores = score(model, words)
            measures = caption_measures(words, [(row["words"], row["tags"]) for row in rows], scores)
            writers["measures"].write({**{key: [row[key] for row in rows] for key in TAGGED.key}, **measures})
            statistics = corpus_statistics(words, measures, scores)
            writers["statistics"].write([{"corpus": corpus, "statistic": one.name, **vars(one)} for one in statistics])
            said = [tagged(row["words"], row["tags"]) for row in rows]
            writers["patterns"].write(pattern_rows(corpus, said, published))
            writers["unigrams"].write(list(frequency_rows(corpus, words, [row["tags"] for row in rows])))


def trigrams(path):
    """Return the language model. Raises ArpaError if it is not a trigram model."""
    model = read_arpa(path)
    if model.order != 3:
        raise ArpaError(
            f"{path} has n-grams of up to {model.order} words, and the tables give the perplexity of "
            "a trigram model; train one of order 3"
        )
    return model


@script
def main(snakemake):
    measured = snakemake.output.get("measures") is not None
    model = trigrams(snakemake.input.model) if measured else None
    captions = read_table(snakemake.input.captions, GENERATED, [*TAGGED.key, "caption"])
    tagger = load_tagger(snakemake.params.tagger)
    found = list(progress(tag(tagger, captions["caption"].to_pylist()), "captions", captions.num_rows))
    columns = {name: [row[place] for row in found] for place, name in enumerate(("words", "lemmas", "tags"))}
    write_table(snakemake.output.tags, TAGGED, {**{key: captions[key] for key in TAGGED.key}, **columns})
    if measured:
        tokens = [row["tokens"].split() for row in read_table(snakemake.input.tokens, TOKENS).to_pylist()]
        published, tags = read_patterns(snakemake.input.published), read_table(snakemake.output.tags, TAGGED)
        measure(model, tokens, tags.to_pylist(), published, snakemake.output)
