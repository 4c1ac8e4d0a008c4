"""Score the captions of a captioner for an evaluation by BLEU, METEOR, ROUGE-L and CIDEr, corpus by corpus."""

from typing import Any

from captionlab.evaluation.nlg import meteor_process, score_corpus
from captionlab.scripting import run
from captionlab.tables import NLG, TOKENS, TableWriter, read_table


def main(snakemake: Any) -> None:
    captions: dict[str, dict[tuple[str, int], str]] = {}
    for row in read_table(snakemake.input.tokens, TOKENS).to_pylist():
        captions.setdefault(row["corpus"], {})[row["image_id"], row["caption_index"]] = row["tokens"]
    with meteor_process() as meteor, TableWriter(snakemake.output[0], NLG) as writer:
        for corpus, path in zip(snakemake.params.corpora, snakemake.input.references, strict=True):
            references: dict[str, list[str]] = {}
            for row in read_table(path, TOKENS).to_pylist():
                references.setdefault(row["image_id"], []).append(row["tokens"])
            writer.write(score_corpus(corpus, captions.get(corpus, {}), references, meteor))


if __name__ == "__main__":
    run(main, globals())
