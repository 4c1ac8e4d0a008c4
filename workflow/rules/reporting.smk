"""Reporting: values with intervals, the papers' tables and figures, their claims, and the folder that holds all tables.

Needs: every table of the run that the config's papers ask for; their published numbers and claims are in their folders.
Makes: results/reporting/, results/figures/ and results/tables/, all of it or a file that is asked for by its name
"""

import re

from captionlab.workflow.blocks import any_of


rule summarise_evaluation:
    input:
        **lab.score_tables(),
        captions=lab.scored_captions(),
    output:
        summary=paths.reporting("summary.parquet"),
        comparisons=paths.reporting("comparisons.parquet"),
        provenance=paths.provenance("summarise_evaluation"),
    log:
        paths.log("summarise_evaluation"),
    conda:
        "../../envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=4000,
        runtime=60,
    params:
        **lab.software("summarise_evaluation", "numpy", "scipy", loads=lab.score_modules()),
        evaluations=lab.evaluation_contexts(),
        unreferenced=lab.unreferenced(),
        lineage=lab.lineage(),
        trainings=lab.trainings,
        factors=lab.score_factors(),
        bounds=lab.scoring.bounds(),
        ends=lab.papers.compared(),
        seed=lab.config["seed"],
    message:
        "summarise every evaluation, with intervals"
    script:
        "../scripts/summarise_evaluation.py"


rule collect_evaluation:
    input:
        summary=paths.reporting("summary.parquet"),
    output:
        tables=multiext(paths.reporting("evaluation"), ".csv", ".md", ".html"),
        provenance=paths.provenance("collect_evaluation"),
    log:
        paths.log("collect_evaluation"),
    conda:
        "../../envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=10,
    params:
        **lab.software("collect_evaluation"),
        humans=lab.validity.humans(),
        provenance=lab.provenance(),
    message:
        "write every metric into one table"
    script:
        "../scripts/collect_evaluation.py"


rule collect_rewards:
    input:
        rewards=lab.validity.rewards(),
    output:
        tables=multiext(paths.reporting("rewards"), ".csv", ".md", ".html"),
        provenance=paths.provenance("collect_rewards"),
    log:
        paths.log("collect_rewards"),
    conda:
        "../../envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=10,
    params:
        **lab.software("collect_rewards", "numpy"),
        trainings=lab.validity.trainings(),
        seed=lab.config["seed"],
        provenance=lab.provenance(),
    message:
        "write the rewards before and after trainings into one table"
    script:
        "../scripts/collect_rewards.py"


rule collect_judgements:
    input:
        correlations=lab.judgements.correlations(),
    output:
        tables=multiext(paths.reporting("judgements"), ".csv", ".md", ".html"),
        provenance=paths.provenance("collect_judgements"),
    log:
        paths.log("collect_judgements"),
    conda:
        "../../envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=10,
    params:
        **lab.software("collect_judgements"),
        judgements=list(lab.judgements.sets),
        simulated=lab.judgements.simulated_sets(),
        provenance=lab.provenance(),
    message:
        "write how far metrics agree with those who judged captions into one table"
    script:
        "../scripts/collect_judgements.py"


rule measure_validity:
    input:
        summary=paths.reporting("summary.parquet"),
        captions=lab.validity.captions(),
        references=lab.validity.references(),
        objects=lab.validity.objects(),
        matching=list(lab.validity.matching().values()),
        rewards=lab.validity.rewards(),
        accuracy=lab.validity.accuracy(),
        claims=lab.claims_table(),
        words=lab.toyworld_files(),
    output:
        tables=multiext(paths.reporting("validity"), ".csv", ".md", ".html"),
        provenance=paths.provenance("measure_validity"),
    log:
        paths.log("measure_validity"),
    conda:
        "../../envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=4000,
        runtime=30,
    params:
        **lab.software("measure_validity", "numpy", "scipy"),
        corpus=lab.validity.corpus(),
        humans=lab.validity.humans(),
        rewarding=lab.validity.rewarding(),
        learned=lab.validity.learned(),
        scorers=list(lab.validity.matching()),
        rewarded={name: training["corpus"] for name, training in lab.validity.trainings().items()},
        toyworld=lab.validity.toyworld(),
        study_human=lab.study.people(),
        seed=lab.config["seed"],
        provenance=lab.provenance(),
    message:
        "measure what must hold for the experiments of this run to mean something"
    script:
        "../scripts/measure_validity.py"


rule collect_language_tables:
    input:
        statistics=lab.language.measured("statistics"),
        patterns=lab.language.measured("patterns"),
        unigrams=lab.language.measured("unigrams"),
    output:
        tables=lab.language.tables(),
        provenance=paths.provenance("collect_language_tables"),
    log:
        paths.log("collect_language_tables"),
    conda:
        "../../envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=10,
    params:
        **lab.software("collect_language_tables"),
        captioners=lab.language.captioners(),
        provenance=lab.provenance(),
    message:
        "make the tables on language"
    script:
        "../scripts/collect_language_tables.py"


for job in lab.papers.jobs("summarise"):

    rule:
        name:
            job.name
        input:
            **job.inputs,
        output:
            **job.outputs,
        log:
            paths.log(job.name),
        group:
            "reporting"
        conda:
            "../../envs/captionlab.yaml"
        threads: 1
        resources:
            mem_mb=job.needs.mem_mb,
            runtime=job.needs.runtime,
        params:
            **job.params,
        message:
            job.message
        script:
            "../scripts/summarise_paper.py"


for job in lab.papers.jobs("tabulate"):

    rule:
        name:
            job.name
        input:
            **job.inputs,
        output:
            **job.outputs,
        log:
            paths.log(job.name),
        group:
            "reporting"
        conda:
            "../../envs/captionlab.yaml"
        threads: 1
        resources:
            mem_mb=job.needs.mem_mb,
            runtime=job.needs.runtime,
        params:
            **job.params,
        message:
            job.message
        script:
            "../scripts/tabulate_paper.py"


for job in lab.papers.jobs("plot"):

    rule:
        name:
            job.name
        input:
            **job.inputs,
        output:
            **job.outputs,
        log:
            paths.log(job.name),
        group:
            "reporting"
        conda:
            "../../envs/captionlab.yaml"
        threads: 1
        resources:
            mem_mb=job.needs.mem_mb,
            runtime=job.needs.runtime,
        params:
            **job.params,
        message:
            job.message
        script:
            "../scripts/plot_paper.py"


rule check_claims:
    input:
        **lab.papers.evidence(),
        summary=paths.reporting("summary.parquet"),
    output:
        tables=multiext(paths.reporting("claims"), ".csv", ".md"),
        page=paths.reporting("claims.html"),
        provenance=paths.provenance("check_claims"),
    log:
        paths.log("check_claims"),
    conda:
        "../../envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=10,
    params:
        **lab.software("check_claims", "scipy", loads=dict.fromkeys(lab.papers.evidence_modules(), ())),
        papers=lab.papers.evidence_params(),
        provenance=lab.provenance(),
    message:
        "judge the papers' claims by this run"
    script:
        "../scripts/check_claims.py"


rule collect_cost:
    input:
        lab.measured_tables(),
    output:
        tables=multiext(paths.reporting("cost"), ".csv", ".md", ".html"),
        jobs=paths.COST,
        provenance=paths.provenance("collect_cost"),
    log:
        paths.log("collect_cost"),
    conda:
        "../../envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        **lab.software("collect_cost"),
        stages=lambda wildcards: {
            rule.name: Path(rule.snakefile).stem
            for rule in workflow.rules
            if Path(rule.snakefile).resolve().parent == ROOT / "workflow" / "rules"
        },
        provenance=lab.provenance(),
    message:
        "add up what every job cost"
    script:
        "../scripts/collect_cost.py"


rule collect_table:
    input:
        lab.table,
    output:
        paths.table(),
        provenance=paths.provenance("collect_table/{table}"),
    log:
        paths.log("collect_table/{table}"),
    wildcard_constraints:
        table=any_of(map(re.escape, lab.table_files())),
    conda:
        "../../envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        **lab.software("collect_table"),
    message:
        "put {wildcards.table} into results/tables/, alone"
    script:
        "../scripts/collect_table.py"


rule collect_tables:
    input:
        tables=lab.tables(),
        pictures=lab.papers.pictures(),
        figures=lab.shown_figures(),
        pages=[page.made for page in lab.pages()],
    output:
        report(
            directory(paths.TABLES),
            patterns=[r"{name,(?!index\.)[^./]+}.{ending,csv|html}"],
            caption="../report/tables.rst",
            category=lab.paper_of,
            subcategory="tables",
            labels=lab.labels_of,
        ),
        provenance=paths.provenance("collect_tables"),
    log:
        paths.log("collect_tables"),
    conda:
        "../../envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        **lab.software("collect_tables"),
        papers=lab.papers.citations(),
        figures=lab.papers.labels(),
        pages={page.file: [page.title, page.sentence] for page in lab.pages()},
    message:
        "collect every table in results/tables/"
    script:
        "../scripts/collect_tables.py"
