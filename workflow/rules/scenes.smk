"""Scenes: what changes when a captioner is finetuned on scenes, and the tables and figures of the scenes paper.

Needs: metrics of one evaluation, what the stages of attention, ablation and probes made of both captioners, and the
published numbers in config/published/.
Makes: results/reporting/scenes/ and results/figures/scenes_*.png
"""


rule summarise_scenes:
    input:
        summary=paths.reporting("summary.parquet"),
        comparisons=paths.reporting("comparisons.parquet"),
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
        differences=paths.attention("differences"),
        rankings=paths.attention("rankings"),
        overlaps=paths.attention("overlaps"),
        correlations=paths.attention("correlations"),
        effects=paths.ablation("effects"),
    output:
        values=paths.reporting("scenes/values.parquet"),
        differences=paths.reporting("scenes/differences.parquet"),
    log:
        paths.log("summarise_scenes"),
    benchmark:
        paths.benchmark("summarise_scenes")
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
        values=paths.reporting("scenes/values.parquet"),
        differences=paths.reporting("scenes/differences.parquet"),
        attention=paths.attention("differences"),
        overlaps=paths.attention("overlaps"),
        correlations=paths.attention("correlations"),
        information=paths.ablation("information"),
        coverage=paths.ablation("coverage"),
        splits=paths.ablation("splits"),
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
            paths.reporting("scenes/scenes_table1_metrics"),
            ".csv",
            ".md",
            ".tex",
            ".html",
        ),
        multiext(
            paths.reporting("scenes/scenes_table2_overlap"),
            ".csv",
            ".md",
            ".tex",
            ".html",
        ),
        multiext(
            paths.reporting("scenes/scenes_table3_objects"),
            ".csv",
            ".md",
            ".tex",
            ".html",
        ),
        multiext(
            paths.reporting("scenes/scenes_table4_probes"),
            ".csv",
            ".md",
            ".tex",
            ".html",
        ),
        multiext(
            paths.reporting("scenes/scenes_table5_samples"),
            ".csv",
            ".md",
            ".tex",
            ".html",
        ),
        multiext(
            paths.reporting("scenes/scenes_table6_classifiers"),
            ".csv",
            ".md",
            ".tex",
            ".html",
        ),
        multiext(
            paths.reporting("scenes/scenes_table7_splits"),
            ".csv",
            ".md",
            ".tex",
            ".html",
        ),
        multiext(
            paths.reporting("scenes/scenes_table8_examples"),
            ".csv",
            ".md",
            ".tex",
            ".html",
        ),
        multiext(
            paths.reporting("scenes/scenes_figure4_attention"),
            ".csv",
            ".md",
            ".tex",
            ".html",
        ),
        multiext(
            paths.reporting("scenes/scenes_figure5_examples"),
            ".csv",
            ".md",
            ".tex",
            ".html",
        ),
        multiext(
            paths.reporting("scenes/scenes_figure6_ablation"),
            ".csv",
            ".md",
            ".tex",
            ".html",
        ),
        multiext(
            paths.reporting("scenes/scenes_figure9_classes"),
            ".csv",
            ".md",
            ".tex",
            ".html",
        ),
        multiext(
            paths.reporting("scenes/scenes_figure10_special_tokens"),
            ".csv",
            ".md",
            ".tex",
            ".html",
        ),
        multiext(
            paths.reporting("scenes/scenes_object_probes"),
            ".csv",
            ".md",
            ".tex",
            ".html",
        ),
        provenance=paths.provenance("collect_scenes_tables"),
    log:
        paths.log("collect_scenes_tables"),
    benchmark:
        paths.benchmark("collect_scenes_tables")
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
        values=paths.reporting("scenes/values.parquet"),
        differences=paths.reporting("scenes/differences.parquet"),
        densities=paths.attention("densities"),
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
            paths.figure("scenes_figure2_captions"),
            caption="../report/scenes_figure2.rst",
            category="scenes",
            labels={"figure": "2: captions before and after"},
        ),
        matrices=report(
            paths.figure("scenes_figure3_attention"),
            caption="../report/scenes_figure3.rst",
            category="scenes",
            labels={"figure": "3: attention matrices"},
        ),
        density=report(
            paths.figure("scenes_figure4_attention_density"),
            caption="../report/scenes_figure4.rst",
            category="scenes",
            labels={"figure": "4: spread of attention"},
        ),
        examples=report(
            paths.figure("scenes_figure5_examples"),
            caption="../report/scenes_figure5.rst",
            category="scenes",
            labels={"figure": "5: captions that change"},
        ),
        confidence=report(
            paths.figure("scenes_figure6_confidence"),
            caption="../report/scenes_figure6.rst",
            category="scenes",
            labels={"figure": "6: confidence after ablation"},
        ),
        shift=report(
            paths.figure("scenes_figure7_confidence_shift"),
            caption="../report/scenes_figure7.rst",
            category="scenes",
            labels={"figure": "7: confidence shift"},
        ),
        classes=report(
            paths.figure("scenes_figure8_classes"),
            caption="../report/scenes_figure8.rst",
            category="scenes",
            labels={"figure": "8: images of scenes"},
        ),
        probes=report(
            paths.figure("scenes_figure9_probes"),
            caption="../report/scenes_figure9.rst",
            category="scenes",
            labels={"figure": "9: probes, most difficult split"},
        ),
        special_tokens=report(
            paths.figure("scenes_figure10_special_tokens"),
            caption="../report/scenes_figure10.rst",
            category="scenes",
            labels={"figure": "10: attention to special tokens"},
        ),
        layers=report(
            paths.figure("scenes_figure11_layers"),
            caption="../report/scenes_figure11.rst",
            category="scenes",
            labels={"figure": "11: attention in three layers"},
        ),
        splits=report(
            paths.figure("scenes_figure12_splits"),
            caption="../report/scenes_figure12.rst",
            category="scenes",
            labels={"figure": "12: confidence by split"},
        ),
        easy_probes=report(
            paths.figure("scenes_figure13_probes"),
            caption="../report/scenes_figure13.rst",
            category="scenes",
            labels={"figure": "13: probes, easiest split"},
        ),
        provenance=paths.provenance("plot_scenes_figures"),
    log:
        paths.log("plot_scenes_figures"),
    benchmark:
        paths.benchmark("plot_scenes_figures")
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
