"""Count the words of a captioner's captions, UNK aside, and the n-grams of their part-of-speech tags, n = 1 to 5."""

from collections import Counter, defaultdict

from captionlab.language.schemas import NGRAMS
from captionlab.schemas import TAGGED, TOKENS
from captionlab.scripting import script
from captionlab.tables import TableWriter, read_table
from captionlab.texts.counting import ngrams
from captionlab.texts.unknown import UNKNOWN


@script
def main(snakemake):
    counts = defaultdict(Counter)
    for row in read_table(snakemake.input.tokens, TOKENS).to_pylist():
        words = [token for token in row["tokens"].split() if token != UNKNOWN.lower()]
        counts[row["corpus"], "word", 1].update(ngrams(words, 1))
    for row in read_table(snakemake.input.tags, TAGGED, ["corpus", "tags"]).to_pylist():
        tags = [tag for tag in row["tags"] if tag != "PUNCT"]
        for n in range(1, 6):
            counts[row["corpus"], "tag", n].update(ngrams(tags, n))
    with TableWriter(snakemake.output[0], NGRAMS) as writer:
        for (corpus, unit, n), counter in counts.items():
            ranked = sorted(counter.items(), key=lambda item: (-item[1], item[0]))
            total, kind = counter.total(), {"corpus": corpus, "unit": unit, "n": n}
            rows = [
                {**kind, "ngram": " ".join(gram), "rank": rank, "count": count, "share": count / total}
                for rank, (gram, count) in enumerate(ranked, 1)
            ]
            writer.write(rows)
