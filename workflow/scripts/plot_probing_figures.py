"""Draw the figures of the probing paper."""

from typing import Any

from captionlab.scripting import run


def main(snakemake: Any) -> None:
    import yaml

    from captionlab.evaluation.schemas import ROLE_DIFFERENCES, ROLE_VALUES
    from captionlab.language.patterns import tagged
    from captionlab.language.schemas import NGRAMS, PATTERNS, TAGGED
    from captionlab.papers.probing.figures import plot_patterns, plot_replacements, plot_unigrams, plot_visual_words
    from captionlab.papers.probing.run import ProbingRun
    from captionlab.reporting.published import read_published
    from captionlab.tables import read_table

    params, paths, output = snakemake.params, snakemake.input, snakemake.output
    with open(paths.style, encoding="utf-8") as file:
        style = yaml.safe_load(file)
    probing = ProbingRun(
        read_table(paths.values, ROLE_VALUES).to_pylist(),
        read_table(paths.differences, ROLE_DIFFERENCES).to_pylist(),
        read_published(paths.published),
        params.config,
        {},
        {},
    )
    corpus = next(iter(probing.corpora.values()))
    captions = {
        role: [
            tagged(row["words"], row["tags"]) for row in read_table(path, TAGGED).to_pylist() if row["corpus"] == corpus
        ]
        for role, path in zip(params.roles, paths.tags, strict=True)
    }
    patterns, unigrams = (
        {role: read_table(path, kind).to_pylist() for role, path in zip(params.roles, of_role, strict=True)}
        for of_role, kind in ((paths.patterns, PATTERNS), (paths.unigrams, NGRAMS))
    )
    plot_patterns(probing, patterns, captions, corpus, style, output.patterns)
    plot_unigrams(probing, unigrams, captions, corpus, style, output.unigrams)
    plot_replacements(probing, corpus, style, output.replacements)
    plot_visual_words(probing, corpus, style, output.visual_words)


if __name__ == "__main__":
    run(main, globals())
