"""Rules of the paper CLIPScore (Hessel et al. 2021): its tables, one for each set of judgements.

Needs: correlations of metrics with judgements (workflow/rules/judgements.smk).
"""

# The block of the paper in the config.
clipscore = settings.papers.clipscore


def judged_labels():
    """Return the labels of the paper for which the config has judgements, in the order of its tables."""
    return [*chain(*clipscore.tables.values())]


def clipscore_judgements(table, labels):
    """Return a table of each set of judgements; names of pooled sets are joined."""
    sets = pooled_sets(clipscore.judgements)
    return [f"results/judgements/{sets[label]}/{table}.parquet" for label in labels]


rule tabulate_clipscore:
    """Make the tables of the paper for which `papers.clipscore.judgements` names sets of judgements. A table says how
    each metric agrees with people, or with simulated judges.

    table1_expert: Kendall's tau with interval on Flickr8k-Expert; the published value, a verdict, the difference from
        CIDEr
    table2_cf: Kendall's tau on Flickr8k-CF, with the same columns as for Flickr8k-Expert
    table3_composite: Kendall's tau on Composite, with the same columns as for Flickr8k-Expert
    table4_pascal: how often each metric prefers the same caption of a pair as people do, on Pascal-50S
    table5_foil: how often each metric prefers the true caption of a pair, on FOIL
    pictures: pictures that tables of examples show in LaTeX, as PNG
    cells: captionlab.reporting.tables.cells.CELLS. By the cells, claims lead to the numbers of the tables
    """
    input:
        correlations=clipscore_judgements("correlations", judged_labels()),
        differences=clipscore_judgements("differences", judged_labels()),
        published=own(place_of("papers", "clipscore") / "published.csv"),
    output:
        tables=expand("results/reporting/clipscore/clipscore_{name}.{ending}", name=clipscore.tables, ending=FORMATS),
        pictures=directory("results/reporting/clipscore/pictures"),
        cells="results/reporting/clipscore/cells.parquet",
    log:
        "results/logs/tabulate_clipscore.log",
    group:
        "reporting"
    conda:
        f"{ROOT}/envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=10,
    params:
        **graph.software("tabulate_paper", loads={"captionlab.papers.clipscore.tables": []}),
        module="captionlab.papers.clipscore.tables",
        config=graph.block("papers", "clipscore"),
        labels=judged_labels(),
        simulated=[label for label in judged_labels() if are_simulated(listed(clipscore.judgements[label]))],
        provenance=lambda wildcards: graph.provenance(),
    message:
        "make the tables of the clipscore paper"
    script:
        f"{ROOT}/workflow/scripts/tabulate_paper.py"


def clipscore_evidence():
    """Return the files and parameters by which claims are judged: differences between metrics on judgements of people.

    Simulated judgements support no claim.
    """
    labels = [label for label in judged_labels() if not are_simulated(listed(clipscore.judgements[label]))]
    parameters = {"labels": labels, "simulated": []}
    return {"differences": clipscore_judgements("differences", labels)}, parameters


papers["clipscore"] = Paper(
    citation="Hessel et al. 2021, *CLIPScore: A Reference-free Evaluation Metric for Image Captioning*",
    tables=rules.tabulate_clipscore.output.tables,
    evidence=clipscore_evidence,
)
