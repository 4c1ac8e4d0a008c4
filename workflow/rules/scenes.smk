"""Scenes: what changes when a captioner is finetuned on scenes, and the tables and figures of the scenes paper.

Needs: metrics of one evaluation, what the stages of attention, ablation and probes made of both captioners, and the
published numbers in config/published/.
Makes: results/reporting/scenes/ and results/figures/scenes_*.png
"""


rule summarise_scenes:
    input:
        summary="results/reporting/summary.parquet",
        comparisons="results/reporting/comparisons.parquet",
        blocks=[
            lab.scenes_paper.of(role, "attention", "blocks")
            for role in lab.scenes.roles
        ],
        shares=[
            lab.scenes_paper.of(role, "attention", "shares")
            for role in lab.scenes.roles
        ],
        captions=[
            lab.scenes_paper.of(role, "ablation", "captions")
            for role in lab.scenes.roles
        ],
        scores=[
            lab.scenes_paper.of(role, "probes", "scores") for role in lab.scenes.roles
        ],
        objects=[
            lab.scenes_paper.of(role, "probes", "objects") for role in lab.scenes.roles
        ],
        differences="results/attention/differences.parquet",
        rankings="results/attention/rankings.parquet",
        overlaps="results/attention/overlaps.parquet",
        correlations="results/attention/correlations.parquet",
        effects="results/ablation/effects.parquet",
    output:
        values="results/reporting/scenes/values.parquet",
        differences="results/reporting/scenes/differences.parquet",
    log:
        "results/logs/summarise_scenes.log",
    benchmark:
        "results/benchmarks/summarise_scenes.tsv"
    conda:
        "../../envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=4000,
        runtime=30,
    params:
        code=lab.code("summarise_scenes"),
        versions=lab.versions("numpy", "scipy"),
        job=lab.scenes_paper.job(),
        seed=lab.scenes.seed(),
    message:
        "measure what finetuning on scenes changes, with intervals"
    script:
        "../scripts/summarise_scenes.py"


rule collect_scenes_tables:
    input:
        values="results/reporting/scenes/values.parquet",
        differences="results/reporting/scenes/differences.parquet",
        attention="results/attention/differences.parquet",
        overlaps="results/attention/overlaps.parquet",
        correlations="results/attention/correlations.parquet",
        information="results/ablation/information.parquet",
        coverage="results/ablation/coverage.parquet",
        splits="results/ablation/splits.parquet",
        captions=[
            lab.scenes_paper.of(role, "ablation", "captions")
            for role in lab.scenes.roles
        ],
        encodings=lab.scenes_paper.of("pretrained", "probes", "encodings"),
        images=lab.scenes_paper.images(),
        training_images=lab.scenes_paper.learnt(),
        object_captions=lab.scenes_paper.described()["objects"],
        scene_captions=lab.scenes_paper.described()["scenes"],
        published=lab.published("scenes.csv"),
    output:
        multiext(
            "results/reporting/scenes/scenes_table1_metrics",
            ".csv",
            ".md",
            ".tex",
            ".html",
        ),
        multiext(
            "results/reporting/scenes/scenes_table2_overlap",
            ".csv",
            ".md",
            ".tex",
            ".html",
        ),
        multiext(
            "results/reporting/scenes/scenes_table3_objects",
            ".csv",
            ".md",
            ".tex",
            ".html",
        ),
        multiext(
            "results/reporting/scenes/scenes_table4_probes",
            ".csv",
            ".md",
            ".tex",
            ".html",
        ),
        multiext(
            "results/reporting/scenes/scenes_table5_samples",
            ".csv",
            ".md",
            ".tex",
            ".html",
        ),
        multiext(
            "results/reporting/scenes/scenes_table6_classifiers",
            ".csv",
            ".md",
            ".tex",
            ".html",
        ),
        multiext(
            "results/reporting/scenes/scenes_table7_splits",
            ".csv",
            ".md",
            ".tex",
            ".html",
        ),
        multiext(
            "results/reporting/scenes/scenes_table8_examples",
            ".csv",
            ".md",
            ".tex",
            ".html",
        ),
        multiext(
            "results/reporting/scenes/scenes_figure4_attention",
            ".csv",
            ".md",
            ".tex",
            ".html",
        ),
        multiext(
            "results/reporting/scenes/scenes_figure5_examples",
            ".csv",
            ".md",
            ".tex",
            ".html",
        ),
        multiext(
            "results/reporting/scenes/scenes_figure6_ablation",
            ".csv",
            ".md",
            ".tex",
            ".html",
        ),
        multiext(
            "results/reporting/scenes/scenes_figure9_classes",
            ".csv",
            ".md",
            ".tex",
            ".html",
        ),
        multiext(
            "results/reporting/scenes/scenes_figure10_special_tokens",
            ".csv",
            ".md",
            ".tex",
            ".html",
        ),
        multiext(
            "results/reporting/scenes/scenes_object_probes",
            ".csv",
            ".md",
            ".tex",
            ".html",
        ),
        provenance="results/provenance/collect_scenes_tables.json",
    log:
        "results/logs/collect_scenes_tables.log",
    benchmark:
        "results/benchmarks/collect_scenes_tables.tsv"
    conda:
        "../../envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=4000,
        runtime=30,
    params:
        code=lab.code("collect_scenes_tables"),
        versions=lab.versions("numpy", "scipy"),
        config=lab.paper_block("scenes"),
        job=lab.scenes_paper.job(),
        provenance=lab.provenance(),
        seed=lab.scenes.seed(),
    message:
        "make the tables of the scenes paper"
    script:
        "../scripts/collect_scenes_tables.py"


rule plot_scenes_figures:
    input:
        values="results/reporting/scenes/values.parquet",
        differences="results/reporting/scenes/differences.parquet",
        densities="results/attention/densities.parquet",
        matrices=[
            lab.scenes_paper.of(role, "attention", "matrices")
            for role in lab.scenes.roles
        ],
        blocks=[
            lab.scenes_paper.of(role, "attention", "blocks")
            for role in lab.scenes.roles
        ],
        captions=[
            lab.scenes_paper.of(role, "ablation", "captions")
            for role in lab.scenes.roles
        ],
        encodings=lab.scenes_paper.of("pretrained", "probes", "encodings"),
        images=lab.scenes_paper.images(),
        training_images=lab.scenes_paper.learnt(),
        object_captions=lab.scenes_paper.described()["objects"],
        scene_captions=lab.scenes_paper.described()["scenes"],
        style=lab.style,
        published=lab.published("scenes.csv"),
    output:
        before_and_after=report(
            "results/figures/scenes_figure2_captions.png",
            caption="../report/scenes_figure2.rst",
            category="scenes",
            labels={"figure": "2: captions before and after"},
        ),
        matrices=report(
            "results/figures/scenes_figure3_attention.png",
            caption="../report/scenes_figure3.rst",
            category="scenes",
            labels={"figure": "3: attention matrices"},
        ),
        density=report(
            "results/figures/scenes_figure4_attention_density.png",
            caption="../report/scenes_figure4.rst",
            category="scenes",
            labels={"figure": "4: spread of attention"},
        ),
        examples=report(
            "results/figures/scenes_figure5_examples.png",
            caption="../report/scenes_figure5.rst",
            category="scenes",
            labels={"figure": "5: captions that change"},
        ),
        confidence=report(
            "results/figures/scenes_figure6_confidence.png",
            caption="../report/scenes_figure6.rst",
            category="scenes",
            labels={"figure": "6: confidence after ablation"},
        ),
        shift=report(
            "results/figures/scenes_figure7_confidence_shift.png",
            caption="../report/scenes_figure7.rst",
            category="scenes",
            labels={"figure": "7: confidence shift"},
        ),
        classes=report(
            "results/figures/scenes_figure8_classes.png",
            caption="../report/scenes_figure8.rst",
            category="scenes",
            labels={"figure": "8: images of scenes"},
        ),
        probes=report(
            "results/figures/scenes_figure9_probes.png",
            caption="../report/scenes_figure9.rst",
            category="scenes",
            labels={"figure": "9: probes, most difficult split"},
        ),
        special_tokens=report(
            "results/figures/scenes_figure10_special_tokens.png",
            caption="../report/scenes_figure10.rst",
            category="scenes",
            labels={"figure": "10: attention to special tokens"},
        ),
        layers=report(
            "results/figures/scenes_figure11_layers.png",
            caption="../report/scenes_figure11.rst",
            category="scenes",
            labels={"figure": "11: attention in three layers"},
        ),
        splits=report(
            "results/figures/scenes_figure12_splits.png",
            caption="../report/scenes_figure12.rst",
            category="scenes",
            labels={"figure": "12: confidence by split"},
        ),
        easy_probes=report(
            "results/figures/scenes_figure13_probes.png",
            caption="../report/scenes_figure13.rst",
            category="scenes",
            labels={"figure": "13: probes, easiest split"},
        ),
        provenance="results/provenance/plot_scenes_figures.json",
    log:
        "results/logs/plot_scenes_figures.log",
    benchmark:
        "results/benchmarks/plot_scenes_figures.tsv"
    conda:
        "../../envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=4000,
        runtime=10,
    params:
        code=lab.code("plot_scenes_figures"),
        versions=lab.versions("matplotlib", "numpy"),
        config=lab.paper_block("scenes"),
        job=lab.scenes_paper.job(),
        seed=lab.scenes.seed(),
    message:
        "draw the figures of the scenes paper"
    script:
        "../scripts/plot_scenes_figures.py"
