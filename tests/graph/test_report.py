"""Where tables stand in Snakemake's report."""

from types import SimpleNamespace

import pytest

from captionlab.graph.report import labels_of, paper_of


@pytest.mark.parametrize(
    ("name", "paper", "label"),
    [
        ("discritune_table1_retrieval", "discritune", "table 1, retrieval"),
        ("discritune_table14_nouns", "discritune", "table 14, nouns"),
        ("probing_figure4_unigrams", "probing", "figure 4, unigrams"),
        ("scenes_table2a_overlap_of_objects", "scenes", "table 2a, overlap of objects"),
        ("scenes_probes", "scenes", "probes"),
        ("evaluation", "this run", "evaluation"),
        ("cost", "this run", "cost"),
    ],
)
@pytest.mark.parametrize(("ending", "shown"), [("html", "page"), ("csv", "rows")])
def test_a_table_has_its_paper_and_its_number(name, paper, label, ending, shown):
    wildcards = SimpleNamespace(name=name, ending=ending)
    assert paper_of(wildcards) == paper
    assert labels_of(wildcards) == {"table": label, "as": shown}
