"""Rules of the paper VALSE (Parcalabescu et al. 2022): its table of pieces, and tables of SugarCrepe and Winoground.

Needs: measures on foils (workflow/rules/judgements.smk).
"""

# The block of the paper in the config.
valse = settings.papers.valse


def sets_with_foils(table):
    """Return a table of the judgements of each benchmark; names of pooled sets are joined."""
    sets = pooled_sets(valse.judgements)
    return [f"results/judgements/{sets[label]}/foil_{table}.parquet" for label in valse.tables]


def made_up_labels():
    """Return the benchmarks whose foils were written for images of the toy world."""
    return [label for label in valse.tables if are_simulated(listed(valse.judgements[label]))]


rule tabulate_valse:
    """Make the tables of the benchmarks of foils that `papers.valse.judgements` names.

    table2_pieces: VALSE: for each piece how often a model prefers the caption to the foil (acc_r), how often it is right
        about single texts (acc, p_c, p_f), and AUROC; the published values, a verdict
    sugarcrepe: SugarCrepe: the same measures for each kind of hard negative
    winoground: Winoground: text, image and group score of each model, over all and by what is swapped
    pictures: pictures that tables of examples show in LaTeX, as PNG
    cells: captionlab.reporting.tables.cells.CELLS. By the cells, claims lead to the numbers of the tables
    """
    input:
        measures=sets_with_foils("measures"),
        published=own(place_of("papers", "valse") / "published.csv"),
    output:
        tables=expand("results/reporting/valse/valse_{name}.{ending}", name=valse.tables.values(), ending=FORMATS),
        pictures=directory("results/reporting/valse/pictures"),
        cells="results/reporting/valse/cells.parquet",
    log:
        "results/logs/tabulate_valse.log",
    group:
        "reporting"
    conda:
        f"{ROOT}/envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=10,
    params:
        **graph.software("tabulate_paper", loads={"captionlab.papers.valse.tables": []}),
        module="captionlab.papers.valse.tables",
        config=graph.block("papers", "valse"),
        labels=list(valse.tables),
        made_up=made_up_labels(),
        provenance=lambda wildcards: graph.provenance(),
    message:
        "make the tables of the valse paper"
    script:
        f"{ROOT}/workflow/scripts/tabulate_paper.py"


def valse_evidence():
    """Return the files and parameters by which claims are judged: differences between models and between pieces."""
    parameters = {"labels": list(valse.tables), "made_up": made_up_labels()}
    return {"differences": sets_with_foils("differences")}, parameters


papers["valse"] = Paper(
    citation="Parcalabescu et al. 2022, *VALSE: A Task-Independent Benchmark for Vision and Language Models Centered on "
    "Linguistic Phenomena*",
    tables=rules.tabulate_valse.output.tables,
    evidence=valse_evidence,
)
