"""Rules of the paper on scene descriptions (Cafagna et al. 2022): its measurements, tables and figures.

Needs: the section `scene_analysis` (workflow/rules/attention.smk, ablation.smk and probes.smk) and the metrics of an evaluation.
"""

scenes = settings.papers.scenes
scene_analysis = settings.scene_analysis
SCENES_TABLES = [
    "table1_metrics",
    "table2_overlap",
    "table3_objects",
    "table4_probes",
    "table5_samples",
    "table6_classifiers",
    "table7_splits",
    "table8_examples",
    "figure4_attention",
    "figure5_examples",
    "figure6_ablation",
    "figure9_classes",
    "figure10_special_tokens",
    "object_probes",
]
SCENES_FIGURES = {
    "figure2_captions": "2: captions before and after",
    "figure3_attention": "3: attention matrices",
    "figure4_attention_density": "4: spread of attention",
    "figure5_examples": "5: captions that change",
    "figure6_confidence": "6 and 7: confidence after ablation, and its shift",
    "figure8_classes": "8: images of scenes",
    "figure9_probes": "9: probes, most difficult split",
    "figure10_special_tokens": "10: attention to special tokens",
    "figure11_layers": "11: attention in three layers",
    "figure12_splits": "12: confidence by split",
    "figure13_probes": "13: probes, easiest split",
}
# The table with the numbers of a figure.
SCENES_TABLES_OF_FIGURES = {
    "figure2_captions": "table8_examples",
    "figure4_attention_density": "figure4_attention",
    "figure5_examples": "figure5_examples",
    "figure6_confidence": "figure6_ablation",
    "figure8_classes": "figure9_classes",
    "figure9_probes": "figure9_classes",
    "figure10_special_tokens": "figure10_special_tokens",
    "figure12_splits": "figure6_ablation",
    "figure13_probes": "figure9_classes",
}


def of_both(path):
    """Return a file of the pretrained and of the finetuned captioner, whose names stand in place of {captioner}."""
    return [path.format(captioner=name) for name in (scene_analysis.pretrained, scene_analysis.finetuned)]


def finetuning_corpus():
    """Return the corpus that the captioner is finetuned on; for an imported captioner, the corpus that is analysed."""
    return getattr(settings.captioners[scene_analysis.finetuned], "corpus", None) or scene_analysis.corpus


def scenes_job(wildcards):
    """Return the corpora and the split that numbers are about, and the labels of captioners in Table 1."""
    return {
        "corpus": scene_analysis.corpus,
        "split": settings.corpora[scene_analysis.corpus].evaluation_split,
        "validation": settings.evaluations[scenes.evaluation].corpora[0],
        "training": finetuning_corpus(),
        "evaluation": scenes.evaluation,
        "labels": {name: label for label, name in sorted(scenes.captioners.items())},
        "end": scene_analysis.finetuned,
        "layer": scene_analysis.attention.layer,
    }


rule summarise_scenes:
    """Measure what finetuning on scenes changes: captions, attention, overlap of objects, ablation, probes.

    values: captionlab.evaluation.schemas.ROLE_VALUES
    differences: captionlab.evaluation.schemas.ROLE_DIFFERENCES. The paper's claims are judged by them
    """
    input:
        summary="results/reporting/summary.parquet",
        comparisons="results/reporting/comparisons.parquet",
        blocks=of_both("results/attention/{captioner}/blocks.parquet"),
        shares=of_both("results/attention/{captioner}/shares.parquet"),
        captions=of_both("results/ablation/{captioner}/captions.parquet"),
        scores=of_both("results/probes/{captioner}/scores.parquet"),
        objects=of_both("results/probes/{captioner}/objects.parquet"),
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
    group:
        "reporting"
    conda:
        f"{ROOT}/envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=4000,
        runtime=30,
    params:
        **graph.software("summarise_paper", "numpy", "scipy", loads={"captionlab.papers.scenes.summary": []}),
        module="captionlab.papers.scenes.summary",
        job=scenes_job,
        seed=scene_analysis.seed,
    message:
        "measure the numbers of the scenes paper"
    script:
        f"{ROOT}/workflow/scripts/summarise_paper.py"


def example_inputs(wildcards):
    """Return the files with examples for tables and figures: captions, attention, images and references."""
    return {
        "captions": of_both("results/ablation/{captioner}/captions.parquet"),
        "matrices": of_both("results/attention/{captioner}/matrices.parquet"),
        "encodings": f"results/probes/{scene_analysis.pretrained}/encodings.parquet",
        "images": f"results/corpora/{scene_analysis.corpus}/images.parquet",
        "training_images": f"results/corpora/{finetuning_corpus()}/images.parquet",
        "object_captions": f"results/corpora/{scenes.object_captions}/captions.parquet",
        "scene_captions": f"results/corpora/{scene_analysis.corpus}/{scene_analysis.labels.table}.parquet",
    }


rule tabulate_scenes:
    """Make the tables of the paper, and tables beyond the paper.

    table1_metrics: metrics of scene captions before and over the epochs of finetuning; ours with interval, the
        published value, a verdict
    table2_overlap: overlap of the most attended with the most frequent objects of each scene, and what uniform
        attention gives
    table3_objects: the objects that tell a scene
    table4_probes: F1 of probes of scenes before and after finetuning, intact and ablated
    table5_samples: images of each split, and how many can be ablated of 1, 2, 3 diagnostic objects
    table6_classifiers: F1 of both classifiers with a control task
    table7_splits: F1 of probes with more and fewer training images
    table8_examples: Table 8: images of the corpus with what people wrote of their objects and of their scene; and the
        captions of Figure 2, before and after finetuning
    figure4_attention: the numbers of Figure 4
    figure5_examples: the captions of Figure 5, with images
    figure6_ablation: the numbers of Figures 6, 7 and 12
    figure9_classes: the numbers of Figures 8, 9 and 13
    figure10_special_tokens: the numbers of Figure 10
    object_probes: beyond the paper: F1 of probes of the objects of images, before and after finetuning on scenes
    pictures: pictures that tables of examples show in LaTeX, as PNG
    cells: captionlab.reporting.tables.cells.CELLS. By the cells, claims lead to the numbers of the tables
    """
    input:
        unpack(example_inputs),
        values="results/reporting/scenes/values.parquet",
        differences="results/reporting/scenes/differences.parquet",
        attention="results/attention/differences.parquet",
        overlaps="results/attention/overlaps.parquet",
        correlations="results/attention/correlations.parquet",
        pmi="results/ablation/pmi.parquet",
        coverage="results/ablation/coverage.parquet",
        splits="results/ablation/splits.parquet",
        published=own(place_of("papers", "scenes") / "published.csv"),
    output:
        tables=expand("results/reporting/scenes/scenes_{name}.{ending}", name=SCENES_TABLES, ending=FORMATS),
        pictures=directory("results/reporting/scenes/pictures"),
        cells="results/reporting/scenes/cells.parquet",
    log:
        "results/logs/tabulate_scenes.log",
    group:
        "reporting"
    conda:
        f"{ROOT}/envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=4000,
        runtime=30,
    params:
        **graph.software("tabulate_paper", "numpy", "scipy", loads={"captionlab.papers.scenes.tables": []}),
        module="captionlab.papers.scenes.tables",
        figures=lambda wildcards: figures_beside("scenes", SCENES_FIGURES, SCENES_TABLES_OF_FIGURES),
        config=graph.block("papers", "scenes"),
        job=scenes_job,
        seed=scene_analysis.seed,
        provenance=lambda wildcards: graph.provenance(),
    message:
        "make the tables of the scenes paper"
    script:
        f"{ROOT}/workflow/scripts/tabulate_paper.py"


rule plot_scenes:
    """Draw the figures of the paper."""
    input:
        unpack(example_inputs),
        values="results/reporting/scenes/values.parquet",
        differences="results/reporting/scenes/differences.parquet",
        densities="results/attention/densities.parquet",
        blocks=of_both("results/attention/{captioner}/blocks.parquet"),
        published=own(place_of("papers", "scenes") / "published.csv"),
        style=own(ROOT / "config/plotting.yaml"),
    output:
        **figures("scenes", "results/figures/scenes_{name}{ending}", SCENES_FIGURES),
    log:
        "results/logs/plot_scenes.log",
    group:
        "reporting"
    conda:
        f"{ROOT}/envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=4000,
        runtime=10,
    params:
        **graph.software("plot_paper", "matplotlib", "numpy", loads={"captionlab.papers.scenes.figures": []}),
        caveats=caveats,
        venue=settings.venue,
        pages=figure_pages("scenes", SCENES_FIGURES, SCENES_TABLES_OF_FIGURES),
        module="captionlab.papers.scenes.figures",
        config=graph.block("papers", "scenes"),
        job=scenes_job,
        seed=scene_analysis.seed,
    message:
        "draw the figures of the scenes paper"
    script:
        f"{ROOT}/workflow/scripts/plot_paper.py"


def scenes_evidence():
    """Return the files by which claims are judged, and further parameters."""
    return {"differences": "results/reporting/scenes/differences.parquet"}, {}


def ends_of_finetuning():
    """Return the snapshots of the finetuning, each with the captioner at its end, which it is compared with."""
    captioners = {name for label, name in scenes.captioners.items() if label != "pretrained"}
    return {name: scene_analysis.finetuned for name in sorted(captioners - {scene_analysis.finetuned})}


papers["scenes"] = Paper(
    citation="Cafagna et al. 2022, *Understanding Cross-modal Interactions in V&L Models that Generate Scene "
    "Descriptions*",
    tables=rules.tabulate_scenes.output.tables,
    figures=SCENES_FIGURES,
    tables_of_figures=SCENES_TABLES_OF_FIGURES,
    evidence=scenes_evidence,
    compared=ends_of_finetuning(),
)
