"""Put this run's numbers and examples into the tables of the probing paper, the published ones beside them."""

from typing import Any

from captionlab.evaluation.schemas import ROLE_DIFFERENCES, ROLE_VALUES
from captionlab.language.schemas import NGRAMS, PATTERNS
from captionlab.papers.probing.beyond import generalisation_table, matching_table, rewards_table
from captionlab.papers.probing.examples import choices_table, constructed_table, examples_table
from captionlab.papers.probing.pages import pages_of, read_constructed, read_generated, templates_of
from captionlab.papers.probing.roles import PrintedScorer
from captionlab.papers.probing.run import REFERENCE, ProbingRun
from captionlab.papers.probing.scores import (
    pattern_shares_table,
    replacements_table,
    scores_table,
    statistics_table,
    templates_table,
    visual_words_table,
    words_table,
)
from captionlab.provenance import commit
from captionlab.reporting.language import Paper, patterns_table, unigrams_table
from captionlab.reporting.published import read_published
from captionlab.reporting.render import Table, write_table_files
from captionlab.scorers.schemas import MATCHING
from captionlab.scripting import run
from captionlab.tables import read_metadata, read_table


def main(snakemake: Any) -> None:
    params, paths = snakemake.params, snakemake.input
    provenance = {"commit": commit(), **params.provenance, **read_metadata(paths.values)}
    published = read_published(paths.published)
    probing = ProbingRun(
        read_table(paths.values, ROLE_VALUES).to_pylist(),
        read_table(paths.differences, ROLE_DIFFERENCES).to_pylist(),
        published,
        params.config,
        params.rewards,
        params.objectives,
    )
    of_roles = Paper(published, {**params.config, "captioners": {role: role for role in probing.roles}})
    patterns, unigrams = (
        {role: read_table(path, kind).to_pylist() for role, path in zip(params.roles, of_role, strict=True)}
        for of_role, kind in ((paths.patterns, PATTERNS), (paths.unigrams, NGRAMS))
    )
    matching = {
        params.scorers[name]["label"]: read_table(path, MATCHING).to_pylist()
        for name, path in zip(params.trained_scorers, paths.matching, strict=True)
    }
    made = [
        scores_table(probing, provenance),
        statistics_table(probing, provenance),
        patterns_table(
            patterns,
            provenance,
            of_roles,
            "probing_table5_patterns",
            "Probing, table 5: prefixes and sentence patterns",
        ),
        pattern_shares_table(probing, provenance),
        unigrams_table(unigrams, provenance, "probing_figure4_unigrams", "Probing, figure 4: the most frequent words"),
        words_table(probing, provenance),
        rewards_table(probing, provenance),
        generalisation_table(probing, provenance),
        matching_table(matching, provenance),
        replacements_table(probing, provenance),
        visual_words_table(probing, provenance),
        *examples(snakemake, probing, provenance),
    ]
    for table in made:
        write_table_files(table, [path for path in snakemake.output if f"/{table.name}." in str(path)])


def examples(snakemake: Any, probing: ProbingRun, provenance: dict[str, Any]) -> list[Table]:
    """The tables with captions of single images, and with templates."""
    params, paths = snakemake.params, snakemake.input
    scorers = {name: PrintedScorer(**printed) for name, printed in params.scorers.items()}
    generated = {
        role: read_generated(captions, alignment, scorers)
        for role, captions, alignment in zip(params.roles, paths.captions, paths.alignment, strict=True)
    }
    images = {
        corpus: (path, params.job["splits"][corpus]) for corpus, path in zip(params.corpora, paths.images, strict=True)
    }
    # Options of Table 1 are made of these captions; of several trainings the first.
    generated[REFERENCE] = read_generated(paths.originals[0], paths.original_alignment[0], scorers)
    constructed = read_constructed(
        paths.constructed[0], paths.constructions[0], paths.constructed_alignment[0], scorers
    )
    pages = pages_of(params.config["corpora"], images, generated, constructed)
    counts = probing.levels("count")
    return [
        examples_table(probing, pages, provenance),
        choices_table(probing, pages, provenance),
        # Five nouns in the paper's example, of three to seven.
        constructed_table(probing, pages, counts[len(counts) // 2] if counts else 0, provenance),
        templates_table(probing, templates_of(paths.constructions[0]), provenance),
    ]


if __name__ == "__main__":
    run(main, globals())
