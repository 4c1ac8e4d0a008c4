"""Own tables: the page on which a reader chooses and copies a table, and tables that choice files of a config name.

Needs: the summary of all evaluations, and the papers' tables for published numbers.
"""


def tables_with_published_numbers():
    """Return the CSV files of the tables of papers that the config asks for."""
    return [path for name in papers_of_config() for path in papers[name].tables if path.endswith(".csv")]


def blocks_of_papers(wildcards):
    """Return the block of each paper in the config, which says what stands for the paper's captioners."""
    return {name: graph.block("papers", name) for name in papers_of_config()}


def check_choices():
    """Raise a Refusal if a choice file is wrong, as far as the config tells."""
    evaluated = {name: list(block.captioners) for name, block in own_evaluations().items()}
    blocks = {training: block for block, names in settings.trainings.items() for training in names}
    captioners = {name: [*names, *(blocks.get(one, one) for one in names)] for name, names in evaluated.items()}
    corpora = {corpus for block in own_evaluations().values() for corpus in block.corpora}
    for path in settings.own_tables.values():
        try:
            file = graph.given(path)
            if Path(file).exists():  # files that are yet to be fetched are checked by the job
                check_names(read_choice(file), path, captioners, sorted(corpora))
        except ChoiceError as mistakes:
            raise Refusal(str(mistakes)) from None


check_choices()


rule make_table_page:
    """Write the page on which a reader chooses and copies a table, if the config has evaluations.

    output: a page with the numbers of all evaluations: rows, columns and form are chosen, the table is copied as LaTeX,
        Markdown or CSV, and the choice is saved as a file for `own_tables`
    """
    input:
        summary="results/reporting/summary.parquet",
        comparisons="results/reporting/comparisons.parquet",
        tables=lambda wildcards: tables_with_published_numbers(),
    output:
        "results/reporting/make_table.html",
    log:
        "results/logs/make_table_page.log",
    conda:
        "../../envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=10,
    params:
        **graph.software("make_table_page"),
        papers=blocks_of_papers,
        humans=humans,
        provenance=lambda wildcards: graph.provenance(),
    message:
        "write the page on which a table is chosen"
    script:
        "../scripts/make_table_page.py"


rule make_own_table:
    """Write a table with the rows and columns that a choice file names.

    tables: the chosen numbers as they are printed, a row for each captioner, corpus and evaluation
    latex: the tabular, for a float of the author
    """
    input:
        choice=lambda wildcards: graph.given(settings.own_tables[wildcards.name]),
        summary="results/reporting/summary.parquet",
        comparisons="results/reporting/comparisons.parquet",
        tables=lambda wildcards: tables_with_published_numbers(),
    output:
        tables=multiext("results/reporting/own_{name}", ".csv", ".md", ".html"),
        latex="results/reporting/own_{name}.tex",
    log:
        "results/logs/make_own_table/{name}.log",
    wildcard_constraints:
        name=any_of(settings.own_tables),
    conda:
        "../../envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=10,
    params:
        **graph.software("make_own_table"),
        papers=blocks_of_papers,
        humans=humans,
        provenance=lambda wildcards: graph.provenance(),
    message:
        "write the own table {wildcards.name}"
    script:
        "../scripts/make_own_table.py"
