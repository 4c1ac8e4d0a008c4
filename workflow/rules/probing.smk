"""Probing: what the captioners of the probing paper, and captions constructed to test its findings, are worth to scorers.

Needs: captions of one evaluation with their metrics, alignment scores and language measures, constructed captions with
their alignment scores, and the published numbers in config/published/.
Makes: results/reporting/probing/ and results/figures/probing_*.png
"""


rule summarise_probing:
    input:
        alignment=lab.probing.alignment(lab.probing.captioners()),
        nlg=lab.probing.scored("nlg"),
        spice=lab.probing.spice(),
        measures=lab.probing.language("measures"),
        patterns=lab.probing.language("patterns"),
        constructions=lab.probing.language(
            "constructions", lab.probing.constructed()
        ),
        constructed=lab.probing.alignment(lab.probing.constructed()),
        originals=lab.probing.alignment(lab.probing.originals()),
    output:
        values="results/reporting/probing/values.parquet",
        differences="results/reporting/probing/differences.parquet",
    log:
        "results/logs/summarise_probing.log",
    benchmark:
        "results/benchmarks/summarise_probing.tsv"
    conda:
        "../../envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=8000,
        runtime=60,
    params:
        code=lab.code("summarise_probing"),
        versions=lab.versions("numpy"),
        job=lab.probing.job(),
        captioners=lab.probing.captioners(),
        roles=lab.probing.roles(),
        parents=lab.probing.parents(),
        rewards=lab.probing.rewards(),
        scorers=lab.probing.scorers(),
        seed=lab.config["seed"],
    message:
        "measure the captioners and constructed captions of the probing paper, with intervals"
    script:
        "../scripts/summarise_probing.py"
