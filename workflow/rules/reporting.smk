"""Reporting: values with intervals, the papers' tables, their claims, and the folder that holds them all.

Needs: every table of scores of the run, and the published numbers in config/published/.
Makes: results/reporting/{summary,comparisons}.parquet, results/reporting/{paper}/, results/tables/
"""


localrules:
    check_claims,
    collect_tables,


rule summarise_evaluation:
    input:
        nlg=lab.scored("nlg"),
        retrieval=lab.scored("retrieval"),
    output:
        summary="results/reporting/summary.parquet",
        comparisons="results/reporting/comparisons.parquet",
    log:
        "results/logs/summarise_evaluation.log",
    benchmark:
        "results/benchmarks/summarise_evaluation.tsv"
    conda:
        "../../envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=4000,
        runtime=60,
    params:
        code=lab.code("summarise_evaluation"),
        versions=lab.versions("numpy"),
        evaluations=lab.evaluation_contexts(),
        lineage=lab.lineage(),
        seed=lab.config["seed"],
    message:
        "summarise every evaluation with intervals"
    script:
        "../scripts/summarise_evaluation.py"
