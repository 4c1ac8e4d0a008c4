"""Probes: can scenes and objects be told from the states of a captioner, before and after finetuning?

Needs: scenes and objects from the stage of ablation, the two captioners, and the tables that they read.
"""


rule encode_scenes:
    """Encode images of scenes, whole and ablated, by a captioner.

    output: captionlab.probes.schemas.encodings_schema
    """
    input:
        config="results/captioners/{captioner}/config.json",
        weights="results/captioners/{captioner}/model.safetensors",
        tokenizer="results/captioners/{captioner}/tokenizer.json",
        ancestors=ancestors,
        labels="results/ablation/labels.parquet",
        chosen="results/ablation/chosen.parquet",
        pmi="results/ablation/pmi.parquet",
        matches="results/ablation/matches.parquet",
        features=analysed_images,
    output:
        "results/probes/{captioner}/encodings.parquet",
    log:
        "results/logs/encode_scenes/{captioner}.log",
    wildcard_constraints:
        captioner=analysed_captioners(),
    conda:
        "../../envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=graph.memory(8000, features=1),
        runtime=240,
        gpu=1,
    params:
        **graph.software("encode_scenes", "numpy", "torch", "tokenizers", loads=analysed_modules),
        config=lambda wildcards: {
            **graph.block("scene_analysis", "ablation", only=["mask"]),
            **graph.block("scene_analysis", "probes", only=["scenes", "selection", "images", "objects"]),
            **min_captions(wildcards),
        },
        splits=analysed_splits,
        seed=lambda wildcards: settings.scene_analysis.seed,
    message:
        "encode images of scenes by {wildcards.captioner}"
    script:
        "../scripts/encode_scenes.py"


def role(wildcards):
    """Return whether a captioner is the pretrained or the finetuned one of the analysis."""
    return "pretrained" if wildcards.captioner == settings.scene_analysis.pretrained else "finetuned"


rule train_probe:
    """Train probes of scenes and of objects on the states of a captioner.

    scores: captionlab.probes.schemas.SCORES
    search: captionlab.probes.schemas.SEARCH. With `probes.search`, the table has all settings that were tried, and
        the chosen settings are first
    objects: captionlab.probes.schemas.OBJECT_SCORES
    """
    input:
        encodings="results/probes/{captioner}/encodings.parquet",
        tags=analysed_tags,
    output:
        scores="results/probes/{captioner}/scores.parquet",
        search="results/probes/{captioner}/search.parquet",
        objects="results/probes/{captioner}/objects.parquet",
    log:
        "results/logs/train_probe/{captioner}.log",
    wildcard_constraints:
        captioner=analysed_captioners(),
    conda:
        "../../envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=graph.memory(4000, tags=10),
        runtime=480,
    params:
        **graph.software("train_probe", "numpy", "scikit-learn", "scipy"),
        config=lambda wildcards: graph.block("scene_analysis", "probes", only=["test_shares", "seeds", "search"]),
        captioner=role,
        seed=lambda wildcards: settings.scene_analysis.seed,
    message:
        "train probes on the states of {wildcards.captioner}"
    script:
        "../scripts/train_probe.py"


def scene_results():
    """Return the tables at the end of the analysis of scenes, if the config has one."""
    scenes = settings.scene_analysis
    if not scenes:
        return []
    return [
        *expand(
            "results/attention/{table}.parquet",
            table=["densities", "differences", "rankings", "overlaps", "correlations"],
        ),
        *expand("results/ablation/{table}.parquet", table=["coverage", "effects", "splits"]),
        *expand("results/probes/{captioner}/scores.parquet", captioner=[scenes.pretrained, scenes.finetuned]),
    ]
