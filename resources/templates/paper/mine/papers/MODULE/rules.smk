rule tabulate_NAME:
    """Make the table of the paper.

    tables: CIDEr of each captioner; ours, the published value
    pictures: pictures that tables of examples show in LaTeX, as PNG
    cells: captionlab.reporting.tables.cells.CELLS. By the cells, claims lead to the numbers of the tables
    """
    input:
        summary="results/reporting/summary.parquet",
        published=own(place_of("papers", "NAME") / "published.csv"),
    output:
        tables=[f"results/reporting/NAME/NAME_table1_scores.{ending}" for ending in FORMATS],
        pictures=directory("results/reporting/NAME/pictures"),
        cells="results/reporting/NAME/cells.parquet",
    log:
        "results/logs/tabulate_NAME.log",
    conda:
        f"{ROOT}/envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=10,
    params:
        **graph.software("tabulate_paper", loads={f"{module_of('papers', 'NAME')}.tables": []}),
        module=f"{module_of('papers', 'NAME')}.tables",
        provenance=lambda wildcards: graph.provenance(),
    script:
        f"{ROOT}/workflow/scripts/tabulate_paper.py"


papers["NAME"] = Paper(
    citation="Nobody 1999, *Rhymes*",
    tables=rules.tabulate_NAME.output.tables,
    evidence=lambda: ({}, {}),
)
