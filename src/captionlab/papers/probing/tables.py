"""The tables of Ma et al. 2022, this run's numbers and examples with the published numbers beside them."""

from collections.abc import Iterator, Mapping
from typing import Any

from captionlab.evaluation.schemas import ROLE_DIFFERENCES, ROLE_VALUES
from captionlab.language.schemas import NGRAMS, PATTERNS
from captionlab.papers.probing.beyond import generalisation_table, matching_table, rewards_table
from captionlab.papers.probing.examples import choices_table, constructed_table, examples_table
from captionlab.papers.probing.pages import pages_of, read_constructed, read_generated, templates_of
from captionlab.papers.probing.paper import REFERENCE
from captionlab.papers.probing.roles import PrintedScorer
from captionlab.papers.probing.run import ProbingRun
from captionlab.papers.probing.scores import (
    pattern_shares_table,
    replacements_table,
    scores_table,
    statistics_table,
    templates_table,
    visual_words_table,
    words_table,
)
from captionlab.reporting.language import patterns_table, unigrams_table
from captionlab.reporting.published import read_published
from captionlab.reporting.render import Table
from captionlab.reporting.reproduction import Reproduction
from captionlab.scorers.schemas import MATCHING
from captionlab.tables import read_metadata, read_table

Given = Mapping[str, Any]


def tabulate(inputs: Given, params: Given, provenance: Given) -> Iterator[Table]:
    """Every table of the paper."""
    provenance = {**provenance, **read_metadata(inputs["values"])}
    published = read_published(inputs["published"])
    probing = ProbingRun(
        read_table(inputs["values"], ROLE_VALUES).to_pylist(),
        read_table(inputs["differences"], ROLE_DIFFERENCES).to_pylist(),
        published,
        params["config"],
        params["rewards"],
        params["objectives"],
    )
    roles = {role: role for role in probing.roles}
    of_roles = Reproduction({**params["config"], "captioners": roles}, published=published)
    patterns, unigrams = (
        {role: read_table(path, kind).to_pylist() for role, path in zip(params["roles"], inputs[name], strict=True)}
        for name, kind in (("patterns", PATTERNS), ("unigrams", NGRAMS))
    )
    matching = {
        params["scorers"][name]["label"]: read_table(path, MATCHING).to_pylist()
        for name, path in zip(params["trained_scorers"], inputs["matching"], strict=True)
    }
    title = "Probing, table 5: prefixes and sentence patterns"
    yield patterns_table(patterns, provenance, of_roles, "probing_table5_patterns", title)
    title = "Probing, figure 4: the most frequent words"
    yield unigrams_table(unigrams, provenance, "probing_figure4_unigrams", title)
    yield matching_table(matching, provenance)
    for table in (
        scores_table, statistics_table, pattern_shares_table, words_table, rewards_table, generalisation_table,
        replacements_table, visual_words_table,
    ):  # fmt: skip
        yield table(probing, provenance)
    yield from _examples(inputs, params, probing, provenance)


def _examples(inputs: Given, params: Given, probing: ProbingRun, provenance: Given) -> Iterator[Table]:
    """The tables with captions of single images, and with templates."""
    scorers = {name: PrintedScorer(**printed) for name, printed in params["scorers"].items()}
    generated = {
        role: read_generated(captions, alignment, scorers)
        for role, captions, alignment in zip(params["roles"], inputs["captions"], inputs["alignment"], strict=True)
    }
    images = {
        corpus: (path, params["job"]["splits"][corpus])
        for corpus, path in zip(params["corpora"], inputs["images"], strict=True)
    }
    # Options of Table 1 are made of these captions; of several trainings the first.
    generated[REFERENCE] = read_generated(inputs["originals"][0], inputs["original_alignment"][0], scorers)
    constructed = read_constructed(
        inputs["constructed"][0], inputs["constructions"][0], inputs["constructed_alignment"][0], scorers
    )
    pages = pages_of(params["config"]["corpora"], images, generated, constructed)
    counts = probing.levels("count")
    yield examples_table(probing, pages, provenance)
    yield choices_table(probing, pages, provenance)
    # Five nouns in the paper's example, of three to seven.
    yield constructed_table(probing, pages, counts[len(counts) // 2] if counts else 0, provenance)
    yield templates_table(probing, templates_of(inputs["constructions"][0]), provenance)
