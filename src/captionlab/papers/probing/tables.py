"""Tables of Ma et al. 2022: values and examples of this run, with the published numbers beside them."""

from collections.abc import Iterator

from captionlab.language.schemas import CONSTRUCTED, NGRAMS, PATTERNS
from captionlab.papers.probing import scores
from captionlab.papers.probing.examples import choices_table, constructed_table, examples_table, read_pages
from captionlab.papers.probing.values import ProbingRun, read_run
from captionlab.reporting.claims.reading import Provenance, measured_on, read_by, read_rows
from captionlab.reporting.runs.published import read_published
from captionlab.reporting.runs.reproduction import Reproduction, in_order
from captionlab.reporting.runs.values import Row
from captionlab.reporting.tables.language import patterns_table, unigrams_table
from captionlab.reporting.tables.render import Table
from captionlab.scorers.schemas import MATCHING


def _of_patterns(inputs: Row, params: Row, provenance: Provenance) -> Iterator[Table]:
    patterns = read_by(params["roles"], inputs["patterns"], PATTERNS)
    published = read_published(inputs["published"])
    roles = in_order(params["config"]["captioners"], published.rows("2"))
    of_roles = Reproduction({**params["config"], "captioners": {role: role for role in roles}}, published=published)
    title = "Probing, table 5: prefixes and sentence patterns"
    yield patterns_table(patterns, provenance, of_roles, "probing_table5_patterns", title)


def _of_words(inputs: Row, params: Row, provenance: Provenance) -> Iterator[Table]:
    unigrams = read_by(params["roles"], inputs["unigrams"], NGRAMS)
    title = "Probing, figure 4: the most frequent words"
    yield unigrams_table(unigrams, provenance, "probing_figure4_unigrams", title)


def _of_matching(inputs: Row, params: Row, provenance: Provenance) -> Iterator[Table]:
    trained = [params["scorers"][name]["label"] for name in params["trained_scorers"]]
    yield scores.matching_table(read_by(trained, inputs["matching"], MATCHING), provenance)


def _of_run(inputs: Row, params: Row, provenance: Provenance) -> Iterator[Table]:
    run, made = _run(inputs, params, provenance)
    yield from (declared.table(run, made) for declared in scores.score_tables(run, params["cosines"]))
    yield scores.rewards_table(run, made)
    yield scores.generalisation_table(run, made)
    if params["metrics"]:
        yield scores.effects_table(run, params["rewarding_encoders"], made)


def _of_captions(inputs: Row, params: Row, provenance: Provenance) -> Iterator[Table]:
    (run, made), pages = _run(inputs, params, provenance), read_pages(inputs, params)
    yield examples_table(run, pages, made)
    yield choices_table(run, pages, made)
    # Five nouns in the paper's example, of three to seven.
    counts = run.levels("count")
    yield constructed_table(run, pages, counts[len(counts) // 2] if counts else 0, made)


def _of_templates(inputs: Row, params: Row, provenance: Provenance) -> Iterator[Table]:
    run, made = _run(inputs, params, provenance)
    constructions = read_rows(inputs["constructions"][0], CONSTRUCTED)
    templates = {(row["subject"], row["source"]): row["template"] for row in constructions if row["template"]}
    yield scores.templates_table(run, templates, made)


TABLES = (_of_patterns, _of_words, _of_matching, _of_run, _of_captions, _of_templates)


def _run(inputs: Row, params: Row, provenance: Provenance) -> tuple[ProbingRun, Provenance]:
    return read_run(inputs, params), measured_on(provenance, inputs["values"])
