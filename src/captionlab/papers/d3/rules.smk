"""Rules of the paper D3 (Gaur et al. 2024): its measurements and its tables.

Needs: retrieval and the metrics of NLG, of the evaluations that the paper's block names.
"""

d3 = settings.papers.d3


def d3_cells(wildcards=None):
    """Return the role, the corpus and the job of each captioner on each corpus of the tables."""
    return [
        {
            "role": f"{captions} {training}",
            "corpus": corpus,
            "job": {"captioner": captioner, "evaluation": evaluation, **evaluation_contexts()[evaluation]},
        }
        for captions, trainings in sorted(d3.captioners.items())
        for training, names in sorted(trainings.items())
        for captioner in listed(names)
        for corpus in sorted(d3.corpora.values())
        for evaluation in d3.evaluations
        if captioner in settings.evaluations[evaluation].captioners
        and corpus in settings.evaluations[evaluation].corpora
    ]


rule summarise_d3:
    """Measure the roles of the paper on each corpus.

    values: captionlab.evaluation.schemas.ROLE_VALUES. Rows are CIDEr, retrieval, and retrieval in bags of each size
    differences: captionlab.evaluation.schemas.ROLE_DIFFERENCES. The paper's claims are judged by them. Each role is
        compared with each other role
    """
    input:
        nlg=lambda wildcards: [
            f"results/evaluation/nlg/{cell['job']['evaluation']}.parquet" for cell in d3_cells(wildcards)
        ],
        retrieval=lambda wildcards: [
            f"results/evaluation/{cell['job']['captioner']}/{cell['job']['evaluation']}/retrieval.parquet"
            for cell in d3_cells(wildcards)
        ],
    output:
        values="results/reporting/d3/values.parquet",
        differences="results/reporting/d3/differences.parquet",
    log:
        "results/logs/summarise_d3.log",
    group:
        "reporting"
    conda:
        f"{ROOT}/envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=4000,
        runtime=30,
    params:
        **graph.software("summarise_paper", "numpy", "scipy", loads={"captionlab.papers.d3.summary": []}),
        module="captionlab.papers.d3.summary",
        cells=d3_cells,
        seed=settings.seed,
    message:
        "measure the numbers of the d3 paper"
    script:
        f"{ROOT}/workflow/scripts/summarise_paper.py"


rule tabulate_d3:
    """Make the tables of the paper.

    tables: retrieval in bags of look-alikes, and retrieval among distractors at random with CIDEr, of each role
    pictures: pictures that tables of examples show in LaTeX, as PNG
    cells: captionlab.reporting.tables.cells.CELLS. By the cells, claims lead to the numbers of the tables
    """
    input:
        values="results/reporting/d3/values.parquet",
        differences="results/reporting/d3/differences.parquet",
        published=own(place_of("papers", "d3") / "published.csv"),
    output:
        tables=expand("results/reporting/d3/d3_{name}.{ending}", name=("truematch", "retrieval"), ending=FORMATS),
        pictures=directory("results/reporting/d3/pictures"),
        cells="results/reporting/d3/cells.parquet",
    log:
        "results/logs/tabulate_d3.log",
    group:
        "reporting"
    conda:
        f"{ROOT}/envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=10,
    params:
        **graph.software("tabulate_paper", loads={"captionlab.papers.d3.tables": []}),
        module="captionlab.papers.d3.tables",
        config=graph.block("papers", "d3"),
        cells=d3_cells,
        provenance=lambda wildcards: graph.provenance(),
    message:
        "make the tables of the d3 paper"
    script:
        f"{ROOT}/workflow/scripts/tabulate_paper.py"


def d3_evidence():
    """Return the files by which claims are judged, and further parameters: differences between roles."""
    return {"differences": "results/reporting/d3/differences.parquet"}, {}


papers["d3"] = Paper(
    citation="Gaur et al. 2024, *No Detail Left Behind: Revisiting Self-Retrieval for Fine-Grained Image Captioning*",
    tables=rules.tabulate_d3.output.tables,
    evidence=d3_evidence,
)
