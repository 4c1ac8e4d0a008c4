"""Reporting: values with intervals, the papers' tables and figures, their claims, and the folder that holds all tables.

Needs: every table of scores of the run, and the published numbers and claims in config/published/.
Makes: results/reporting/, results/figures/ and results/tables/, which one rule owns
"""


rule summarise_evaluation:
    input:
        nlg=lab.scored("nlg"),
        retrieval=lab.scored("retrieval"),
        spice=lab.scored("spice"),
        alignment=lab.scored("alignment"),
        captions=lab.scored_captions(),
    output:
        summary=paths.reporting("summary.parquet"),
        comparisons=paths.reporting("comparisons.parquet"),
    log:
        paths.log("summarise_evaluation"),
    benchmark:
        paths.benchmark("summarise_evaluation")
    conda:
        "../../envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=4000,
        runtime=60,
    params:
        code=lab.code("summarise_evaluation"),
        versions=lab.versions("numpy", "scipy"),
        evaluations=lab.evaluation_contexts(),
        lineage=lab.lineage(),
        factors=lab.probing.factors(),
        ends=lab.scenes_paper.ends(),
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
    benchmark:
        paths.benchmark("collect_evaluation")
    conda:
        "../../envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=10,
    params:
        code=lab.code("collect_evaluation"),
        provenance=lab.provenance(),
    message:
        "write every metric into one table"
    script:
        "../scripts/collect_evaluation.py"


rule measure_validity:
    input:
        summary=paths.reporting("summary.parquet"),
        captions=lab.validity.captions(),
        references=lab.validity.references(),
        objects=lab.validity.objects(),
        matching=lab.validity.matching(),
        accuracy=lab.validity.accuracy(),
    output:
        tables=multiext(paths.reporting("validity"), ".csv", ".md", ".html"),
        provenance=paths.provenance("measure_validity"),
    log:
        paths.log("measure_validity"),
    benchmark:
        paths.benchmark("measure_validity")
    conda:
        "../../envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=4000,
        runtime=30,
    params:
        code=lab.code("measure_validity"),
        versions=lab.versions("numpy", "scipy"),
        corpus=lab.validity.corpus(),
        humans=lab.validity.humans(),
        rewarding=lab.validity.rewarding(),
        learned=lab.validity.learned(),
        toyworld=lab.validity.toyworld(),
        study_human=lab.study.people(),
        seed=lab.config["seed"],
        provenance=lab.provenance(),
    message:
        "measure what must hold for the experiments of this run to mean something"
    script:
        "../scripts/measure_validity.py"


rule collect_discritune_tables:
    input:
        summary=paths.reporting("summary.parquet"),
        comparisons=paths.reporting("comparisons.parquet"),
        published=lab.published("discritune.csv"),
    output:
        lab.discritune.table_files(),
        provenance=paths.provenance("collect_discritune_tables"),
    log:
        paths.log("collect_discritune_tables"),
    benchmark:
        paths.benchmark("collect_discritune_tables")
    conda:
        "../../envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=10,
    params:
        code=lab.code("collect_discritune_tables"),
        config=lab.paper_block("discritune"),
        lineage=lab.lineage(),
        provenance=lab.provenance(),
    message:
        "make the tables of the discritune paper"
    script:
        "../scripts/collect_discritune_tables.py"


rule summarise_discritune:
    input:
        captions=lab.discritune.compared_captions(),
        nlg=lab.discritune.compared("nlg"),
        spice=lab.discritune.compared("spice"),
        measures=lab.discritune.spoken(partial(paths.language, "measures")),
        tokens=lab.discritune.spoken(partial(paths.evaluation, "tokens")),
    output:
        paths.reporting("discritune/differences.parquet"),
    log:
        paths.log("summarise_discritune"),
    benchmark:
        paths.benchmark("summarise_discritune")
    conda:
        "../../envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=4000,
        runtime=60,
    params:
        code=lab.code("summarise_discritune"),
        versions=lab.versions("numpy", "scipy"),
        evaluations=lab.evaluation_contexts(),
        config=lab.paper_block("discritune"),
        lineage=lab.lineage(),
        seed=lab.config["seed"],
    message:
        "measure gains, transfer and fluency of the discritune paper, with intervals"
    script:
        "../scripts/summarise_discritune.py"


rule summarise_ablations:
    input:
        captions=lab.discritune.ablated_captions(),
        nlg=lab.discritune.ablated("nlg"),
        retrieval=lab.discritune.ablated("retrieval"),
        spice=lab.discritune.ablated("spice"),
    output:
        values=paths.reporting("discritune/ablation_values.parquet"),
        differences=paths.reporting("discritune/ablation_differences.parquet"),
    log:
        paths.log("summarise_ablations"),
    benchmark:
        paths.benchmark("summarise_ablations")
    conda:
        "../../envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=4000,
        runtime=60,
    params:
        code=lab.code("summarise_ablations"),
        versions=lab.versions("numpy", "scipy"),
        evaluations=lab.evaluation_contexts(),
        ablations=lab.discritune.ablations(),
        seed=lab.config["seed"],
    message:
        "measure the ablations of the discritune paper, with intervals"
    script:
        "../scripts/summarise_ablations.py"


rule collect_ablation_tables:
    input:
        values=paths.reporting("discritune/ablation_values.parquet"),
        differences=paths.reporting("discritune/ablation_differences.parquet"),
        published=lab.published("discritune.csv"),
    output:
        lab.discritune.ablation_files(),
        provenance=paths.provenance("collect_ablation_tables"),
    log:
        paths.log("collect_ablation_tables"),
    benchmark:
        paths.benchmark("collect_ablation_tables")
    conda:
        "../../envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=10,
    params:
        code=lab.code("collect_ablation_tables"),
        config=lab.discritune.ablation_block(),
        retrievers=lab.discritune.ablation_retrievers(),
        provenance=lab.provenance(),
    message:
        "make the tables of ablations of the discritune paper"
    script:
        "../scripts/collect_ablation_tables.py"


rule collect_language_tables:
    input:
        statistics=lab.language.measured("statistics"),
        patterns=lab.language.measured("patterns"),
        unigrams=lab.language.measured("unigrams"),
        associations=paths.ASSOCIATIONS,
        published=lab.published("discritune.csv"),
    output:
        multiext(
            paths.reporting("language/language_statistics"),
            ".csv",
            ".md",
            ".tex",
            ".html",
        ),
        multiext(
            paths.reporting("language/language_patterns"),
            ".csv",
            ".md",
            ".tex",
            ".html",
        ),
        multiext(
            paths.reporting("language/language_unigrams"),
            ".csv",
            ".md",
            ".tex",
            ".html",
        ),
        multiext(
            paths.reporting("language/discritune_table7_adjectives"),
            ".csv",
            ".md",
            ".tex",
            ".html",
        ),
        multiext(
            paths.reporting("language/discritune_table14_nouns"),
            ".csv",
            ".md",
            ".tex",
            ".html",
        ),
        provenance=paths.provenance("collect_language_tables"),
    log:
        paths.log("collect_language_tables"),
    benchmark:
        paths.benchmark("collect_language_tables")
    conda:
        "../../envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=10,
    params:
        code=lab.code("collect_language_tables"),
        captioners=lab.language.captioners(),
        caption_types=lab.language.caption_types(),
        config=lab.paper_block("discritune"),
        provenance=lab.provenance(),
    message:
        "make the tables on language"
    script:
        "../scripts/collect_language_tables.py"


rule plot_discritune_figures:
    input:
        summary=paths.reporting("summary.parquet"),
        training=expand(
            paths.captioner("training.parquet"),
            captioner=lab.finetuned("discritune"),
        ),
        style=lab.style,
        published=lab.published("discritune.csv"),
    output:
        retrieval=report(
            paths.figure("discritune_retrieval"),
            caption="../report/discritune_retrieval.rst",
            category="discritune",
            subcategory="figures",
            labels={"figure": "retrieval"},
        ),
        finetuning=report(
            paths.figure("discritune_finetuning"),
            caption="../report/discritune_finetuning.rst",
            category="discritune",
            subcategory="figures",
            labels={"figure": "finetuning"},
        ),
        provenance=paths.provenance("plot_discritune_figures"),
    log:
        paths.log("plot_discritune_figures"),
    benchmark:
        paths.benchmark("plot_discritune_figures")
    conda:
        "../../envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=10,
    params:
        code=lab.code("plot_discritune_figures"),
        versions=lab.versions("matplotlib"),
        config=lab.paper_block("discritune"),
        finetuned=lab.finetuned("discritune"),
    message:
        "draw the figures of the discritune paper"
    script:
        "../scripts/plot_discritune_figures.py"


rule check_claims:
    input:
        **lab.study.of_people(),
        summary=paths.reporting("summary.parquet"),
        comparisons=paths.reporting("comparisons.parquet"),
        probing=lab.probing.differences(),
        discritune=lab.discritune.differences(),
        ablations=lab.discritune.ablation_differences(),
        scenes=lab.scenes_paper.differences(),
        claims=lab.published("claims.yaml"),
        published=[
            lab.published(f"{paper}.csv")
            for paper in ("discritune", "probing", "scenes")
        ],
    output:
        tables=multiext(paths.reporting("claims"), ".csv", ".md", ".html"),
        provenance=paths.provenance("check_claims"),
    log:
        paths.log("check_claims"),
    benchmark:
        paths.benchmark("check_claims")
    conda:
        "../../envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=10,
    params:
        code=lab.code("check_claims"),
        versions=lab.versions("scipy"),
        config=lab.papers_block(),
        lineage=lab.lineage(),
        provenance=lab.provenance(),
    message:
        "judge the papers' claims by this run"
    script:
        "../scripts/check_claims.py"


rule collect_cost:
    input:
        lab.measured_tables(),
    output:
        multiext(paths.reporting("cost"), ".csv", ".md", ".html"),
        jobs=paths.COST,
    log:
        paths.log("collect_cost"),
    benchmark:
        paths.benchmark("collect_cost")
    conda:
        "../../envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        code=lab.code("collect_cost"),
        stages=lab.stages(),
        provenance=lab.provenance(),
    message:
        "add up what every job cost"
    script:
        "../scripts/collect_cost.py"


rule collect_tables:
    input:
        tables=lab.tables(),
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
    benchmark:
        paths.benchmark("collect_tables")
    conda:
        "../../envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        code=lab.code("collect_tables"),
    message:
        "collect every table in results/tables/"
    script:
        "../scripts/collect_tables.py"
