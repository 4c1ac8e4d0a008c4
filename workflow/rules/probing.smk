"""Probing: what the captioners of the probing paper, and captions constructed to test its findings, are worth to scorers.

Needs: captions of one evaluation with their metrics, alignment scores and language measures, constructed captions with
their alignment scores, and the published numbers in config/published/.
Makes: results/reporting/probing/ and results/figures/probing_*.png
"""


rule summarise_probing:
    input:
        captions=lab.probing.captions(lab.probing.captioners()),
        alignment=lab.probing.scored("alignment"),
        nlg=lab.probing.scored("nlg"),
        spice=lab.probing.spice(),
        measures=lab.probing.language("measures"),
        tags=lab.probing.language("tags"),
        patterns=lab.probing.language("patterns"),
        constructions=lab.probing.language("constructions", lab.probing.constructed()),
        constructed=lab.probing.scored("alignment", lab.probing.constructed()),
        originals=lab.probing.scored("alignment", lab.probing.originals()),
    output:
        values=paths.reporting("probing/values.parquet"),
        differences=paths.reporting("probing/differences.parquet"),
    log:
        paths.log("summarise_probing"),
    benchmark:
        paths.benchmark("summarise_probing")
    conda:
        "../../envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=8000,
        runtime=60,
    params:
        code=lab.code("summarise_probing"),
        versions=lab.versions("numpy", "scipy"),
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


rule collect_probing_tables:
    input:
        values=paths.reporting("probing/values.parquet"),
        differences=paths.reporting("probing/differences.parquet"),
        captions=lab.probing.captions(lab.probing.first_captioners()),
        alignment=lab.probing.scored("alignment", lab.probing.first_captioners()),
        patterns=lab.probing.language("patterns", lab.probing.first_captioners()),
        unigrams=lab.probing.language("unigrams", lab.probing.first_captioners()),
        constructed=lab.probing.captions(lab.probing.constructed()),
        constructions=lab.probing.language("constructions", lab.probing.constructed()),
        constructed_alignment=lab.probing.scored("alignment", lab.probing.constructed()),
        originals=lab.probing.captions(lab.probing.originals()),
        original_alignment=lab.probing.scored("alignment", lab.probing.originals()),
        images=lab.probing.corpus_tables("images"),
        matching=lab.probing.matching(),
        published=lab.published("probing.csv"),
    output:
        multiext(
            paths.reporting("probing/probing_table1_choices"),
            ".csv",
            ".md",
            ".tex",
            ".html",
        ),
        multiext(
            paths.reporting("probing/probing_table2_scores"),
            ".csv",
            ".md",
            ".tex",
            ".html",
        ),
        multiext(
            paths.reporting("probing/probing_table3_examples"),
            ".csv",
            ".md",
            ".tex",
            ".html",
        ),
        multiext(
            paths.reporting("probing/probing_table4_statistics"),
            ".csv",
            ".md",
            ".tex",
            ".html",
        ),
        multiext(
            paths.reporting("probing/probing_table5_patterns"),
            ".csv",
            ".md",
            ".tex",
            ".html",
        ),
        multiext(
            paths.reporting("probing/probing_table6_constructed"),
            ".csv",
            ".md",
            ".tex",
            ".html",
        ),
        multiext(
            paths.reporting("probing/probing_table7_templates"),
            ".csv",
            ".md",
            ".tex",
            ".html",
        ),
        multiext(
            paths.reporting("probing/probing_figure1_patterns"),
            ".csv",
            ".md",
            ".tex",
            ".html",
        ),
        multiext(
            paths.reporting("probing/probing_figure2_replacements"),
            ".csv",
            ".md",
            ".tex",
            ".html",
        ),
        multiext(
            paths.reporting("probing/probing_figure3_visual_words"),
            ".csv",
            ".md",
            ".tex",
            ".html",
        ),
        multiext(
            paths.reporting("probing/probing_figure4_unigrams"),
            ".csv",
            ".md",
            ".tex",
            ".html",
        ),
        multiext(
            paths.reporting("probing/probing_figure4_words"),
            ".csv",
            ".md",
            ".tex",
            ".html",
        ),
        multiext(
            paths.reporting("probing/probing_rewards"),
            ".csv",
            ".md",
            ".tex",
            ".html",
        ),
        multiext(
            paths.reporting("probing/probing_generalisation"),
            ".csv",
            ".md",
            ".tex",
            ".html",
        ),
        multiext(
            paths.reporting("probing/probing_matching"),
            ".csv",
            ".md",
            ".tex",
            ".html",
        ),
        provenance=paths.provenance("collect_probing_tables"),
    log:
        paths.log("collect_probing_tables"),
    benchmark:
        paths.benchmark("collect_probing_tables")
    conda:
        "../../envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=4000,
        runtime=30,
    params:
        code=lab.code("collect_probing_tables"),
        config=lab.paper_block("probing"),
        job=lab.probing.job(),
        roles=list(lab.probing.roles()),
        corpora=lab.probing.corpora(),
        scorers=lab.probing.scorers(),
        trained_scorers=lab.probing.trained_scorers(),
        rewards=lab.probing.rewards(),
        objectives=lab.probing.objectives(),
        provenance=lab.provenance(),
    message:
        "make the tables of the probing paper"
    script:
        "../scripts/collect_probing_tables.py"


rule plot_probing_figures:
    input:
        values=paths.reporting("probing/values.parquet"),
        differences=paths.reporting("probing/differences.parquet"),
        patterns=lab.probing.language("patterns", lab.probing.first_captioners()),
        unigrams=lab.probing.language("unigrams", lab.probing.first_captioners()),
        tags=lab.probing.language("tags", lab.probing.first_captioners()),
        style=lab.style,
        published=lab.published("probing.csv"),
    output:
        patterns=report(
            paths.figure("probing_figure1_patterns"),
            caption="../report/probing_figure1.rst",
            category="probing",
            labels={"figure": "1: patterns"},
        ),
        replacements=report(
            paths.figure("probing_figure2_replacements"),
            caption="../report/probing_figure2.rst",
            category="probing",
            labels={"figure": "2: words replaced"},
        ),
        visual_words=report(
            paths.figure("probing_figure3_visual_words"),
            caption="../report/probing_figure3.rst",
            category="probing",
            labels={"figure": "3: more visual words"},
        ),
        unigrams=report(
            paths.figure("probing_figure4_unigrams"),
            caption="../report/probing_figure4.rst",
            category="probing",
            labels={"figure": "4: most frequent words"},
        ),
        provenance=paths.provenance("plot_probing_figures"),
    log:
        paths.log("plot_probing_figures"),
    benchmark:
        paths.benchmark("plot_probing_figures")
    conda:
        "../../envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=10,
    params:
        code=lab.code("plot_probing_figures"),
        versions=lab.versions("matplotlib"),
        config=lab.paper_block("probing"),
        roles=list(lab.probing.roles()),
    message:
        "draw the figures of the probing paper"
    script:
        "../scripts/plot_probing_figures.py"
