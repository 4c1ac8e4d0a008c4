"""Rules of the paper HL (Cafagna et al. 2023): its measurements and its table.

Needs: scores by SacreBLEU and the metrics of NLG, of evaluations with `sacrebleu: true`.
"""

hl = settings.papers.hl


def evaluation_with_sacrebleu(captioner, corpus):
    """Return the only evaluation that scores the captions of a captioner on a corpus by SacreBLEU."""
    [name] = [
        name
        for name, evaluation in settings.evaluations.items()
        if getattr(evaluation, "sacrebleu", False)
        and captioner in evaluation.captioners
        and corpus in evaluation.corpora
    ]
    return name


def hl_trainings():
    """Return the axis, label, captioners (trainings) and evaluation of each number in the table."""
    for label, captioners in sorted(hl.models.items()):
        for axis, names in sorted(captioners.items()):
            for captioner in listed(names):
                yield axis, label, captioner, evaluation_with_sacrebleu(captioner, hl.corpora[axis])


def hl_cells(wildcards):
    """Return the corpus and the job of each number in the table."""
    return [
        {
            "axis": axis,
            "corpus": hl.corpora[axis],
            "model": label,
            "job": {"captioner": captioner, "evaluation": evaluation, **evaluation_contexts()[evaluation]},
        }
        for axis, label, captioner, evaluation in hl_trainings()
    ]


rule summarise_hl:
    """Measure the models of the paper on each axis.

    values: captionlab.evaluation.schemas.ROLE_VALUES. Rows are metrics of each model on each axis
    differences: captionlab.evaluation.schemas.ROLE_DIFFERENCES. The paper's claims are judged by them. Each model is
        compared with each other model
    """
    input:
        nlg=[f"results/evaluation/nlg/{evaluation}.parquet" for *_, evaluation in hl_trainings()],
        sacrebleu=[
            f"results/evaluation/{captioner}/{evaluation}/sacrebleu.parquet"
            for *_, captioner, evaluation in hl_trainings()
        ],
        captions=[f"results/captions/{captioner}/{evaluation}.parquet" for *_, captioner, evaluation in hl_trainings()],
    output:
        values="results/reporting/hl/values.parquet",
        differences="results/reporting/hl/differences.parquet",
    log:
        "results/logs/summarise_hl.log",
    group:
        "reporting"
    conda:
        f"{ROOT}/envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=4000,
        runtime=30,
    params:
        **graph.software("summarise_paper", "numpy", "sacrebleu", "scipy", loads={"captionlab.papers.hl.summary": []}),
        module="captionlab.papers.hl.summary",
        cells=hl_cells,
        seed=settings.seed,
    message:
        "measure the numbers of the hl paper"
    script:
        f"{ROOT}/workflow/scripts/summarise_paper.py"


rule tabulate_hl:
    """Make the table of the paper.

    tables: CIDEr, SacreBLEU and ROUGE-L of each model on each axis; ours with interval, the published value, a
        verdict
    pictures: pictures that tables of examples show in LaTeX, as PNG
    cells: captionlab.reporting.tables.cells.CELLS. By the cells, claims lead to the numbers of the tables
    """
    input:
        values="results/reporting/hl/values.parquet",
        differences="results/reporting/hl/differences.parquet",
        published=own(place_of("papers", "hl") / "published.csv"),
    output:
        tables=[f"results/reporting/hl/hl_baselines.{ending}" for ending in FORMATS],
        pictures=directory("results/reporting/hl/pictures"),
        cells="results/reporting/hl/cells.parquet",
    log:
        "results/logs/tabulate_hl.log",
    group:
        "reporting"
    conda:
        f"{ROOT}/envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=10,
    params:
        **graph.software("tabulate_paper", "sacrebleu", loads={"captionlab.papers.hl.tables": []}),
        module="captionlab.papers.hl.tables",
        config=graph.block("papers", "hl"),
        cells=hl_cells,
        provenance=lambda wildcards: graph.provenance(),
    message:
        "make the table of the hl paper"
    script:
        f"{ROOT}/workflow/scripts/tabulate_paper.py"


def hl_evidence():
    """Return the files by which claims are judged, and further parameters: differences between models."""
    return {"differences": "results/reporting/hl/differences.parquet"}, {}


papers["hl"] = Paper(
    citation="Cafagna et al. 2023, *HL Dataset: Visually-grounded Description of Scenes, Actions and Rationales*",
    tables=rules.tabulate_hl.output.tables,
    evidence=hl_evidence,
)
