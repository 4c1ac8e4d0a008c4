"""The tables of Ma et al. 2022, this run's numbers and examples with the published numbers beside them."""

from collections.abc import Iterator

from captionlab.language.schemas import CONSTRUCTED, NGRAMS, PATTERNS
from captionlab.papers.probing import scores
from captionlab.papers.probing.examples import choices_table, constructed_table, examples_table, read_pages
from captionlab.papers.probing.run import read_run
from captionlab.reporting.language import patterns_table, unigrams_table
from captionlab.reporting.reading import Provenance, read_by, read_rows
from captionlab.reporting.render import Table
from captionlab.reporting.reproduction import Reproduction
from captionlab.reporting.runs import Row
from captionlab.scorers.schemas import MATCHING
from captionlab.tables import read_metadata


def tabulate(inputs: Row, params: Row, provenance: Provenance) -> Iterator[Table]:
    """Every table of the paper."""
    provenance = {**provenance, **read_metadata(inputs["values"])}
    run, pages = read_run(inputs, params), read_pages(inputs, params)
    patterns = read_by(params["roles"], inputs["patterns"], PATTERNS)
    unigrams = read_by(params["roles"], inputs["unigrams"], NGRAMS)
    matched = [params["scorers"][name]["label"] for name in params["trained_scorers"]]
    of_roles = Reproduction(
        {**params["config"], "captioners": {role: role for role in run.roles}}, published=run.published
    )
    title = "Probing, table 5: prefixes and sentence patterns"
    yield patterns_table(patterns, provenance, of_roles, "probing_table5_patterns", title)
    title = "Probing, figure 4: the most frequent words"
    yield unigrams_table(unigrams, provenance, "probing_figure4_unigrams", title)
    yield scores.matching_table(read_by(matched, inputs["matching"], MATCHING), provenance)
    yield from (declared.table(run, provenance) for declared in scores.score_tables(run))
    yield scores.rewards_table(run, provenance)
    yield scores.generalisation_table(run, provenance)
    counts = run.levels("count")
    yield examples_table(run, pages, provenance)
    yield choices_table(run, pages, provenance)
    # Five nouns in the paper's example, of three to seven.
    yield constructed_table(run, pages, counts[len(counts) // 2] if counts else 0, provenance)
    constructions = read_rows(inputs["constructions"][0], CONSTRUCTED)
    templates = {(row["subject"], row["source"]): row["template"] for row in constructions if row["template"]}
    yield scores.templates_table(run, templates, provenance)
