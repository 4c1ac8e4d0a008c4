"""Ablation: scenes, the objects that tell them, and captions of images without these objects.

Needs: a corpus with scene captions, its regions and tags, and a captioner before and after finetuning on scenes.
"""


def scene_captions(wildcards):
    """Return the table of the analysed corpus whose captions say which scene an image depicts."""
    scenes = settings.scene_analysis
    return f"results/corpora/{scenes.corpus}/{scenes.labels.table}.parquet"


rule label_scenes:
    """Label images with the nouns of their scene captions, and choose the scenes that are studied.

    labels: captionlab.ablation.schemas.LABELS
    chosen: captionlab.ablation.schemas.CHOSEN
    """
    input:
        images=lambda wildcards: f"results/corpora/{settings.scene_analysis.corpus}/images.parquet",
        captions=scene_captions,
        tagger=tagger.files,
    output:
        labels="results/ablation/labels.parquet",
        chosen="results/ablation/chosen.parquet",
    log:
        "results/logs/label_scenes.log",
    conda:
        "../../envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=4000,
        runtime=60,
    params:
        **graph.software("label_scenes", *tagger.libraries),
        config=lambda wildcards: graph.block("scene_analysis", "labels"),
        tagger=tagger.name,
    message:
        "label images with scenes"
    script:
        "../scripts/label_scenes.py"


rule compute_pmi:
    """Compute the pointwise mutual information of objects and scenes.

    output: captionlab.ablation.schemas.PMI
    """
    input:
        labels="results/ablation/labels.parquet",
        chosen="results/ablation/chosen.parquet",
        tags=analysed_tags,
    output:
        "results/ablation/pmi.parquet",
    log:
        "results/logs/compute_pmi.log",
    conda:
        "../../envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=graph.memory(4000, tags=10),
        runtime=60,
    params:
        **graph.software("compute_pmi"),
        config=lambda wildcards: {**graph.block("scene_analysis", "pmi"), **min_captions(wildcards)},
    message:
        "compute what objects say about scenes"
    script:
        "../scripts/compute_pmi.py"


def pretrained_files(wildcards):
    """Return the files of the pretrained captioner."""
    name = settings.scene_analysis.pretrained
    own_files = ("config.json", "model.safetensors", "tokenizer.json")
    return [*(f"results/captioners/{name}/{file}" for file in own_files), *graph.ancestor_files(name)]


def pretrained_images(wildcards):
    """Return the regions and tags of the analysed corpus, which both captioners read."""
    return graph.images_for("captioners", settings.scene_analysis.pretrained, settings.scene_analysis.corpus)


rule match_regions:
    """Find the regions that show tagged objects.

    matches: captionlab.ablation.schemas.MATCHES
    coverage: captionlab.ablation.schemas.COVERAGE
    """
    input:
        model=pretrained_files,
        images=lambda wildcards: f"results/corpora/{settings.scene_analysis.corpus}/images.parquet",
        features=pretrained_images,
    output:
        matches="results/ablation/matches.parquet",
        coverage="results/ablation/coverage.parquet",
    log:
        "results/logs/match_regions.log",
    conda:
        "../../envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=graph.memory(8000, features=1),
        runtime=120,
    params:
        **graph.software("match_regions", "numpy", loads=analysed_modules),
        config=lambda wildcards: graph.block("scene_analysis", "matching"),
    message:
        "find the regions that show tagged objects"
    script:
        "../scripts/match_regions.py"


rule ablate_objects:
    """Caption images whole, and without the objects that tell their scene.

    output: captionlab.ablation.schemas.ABLATED
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
        "results/ablation/{captioner}/captions.parquet",
    log:
        "results/logs/ablate_objects/{captioner}.log",
    wildcard_constraints:
        captioner=analysed_captioners(),
    conda:
        "../../envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=graph.memory(8000, features=1),
        runtime=720,
        gpu=1,
    params:
        **graph.software("ablate_objects", "torch", "tokenizers", loads=analysed_modules),
        config=lambda wildcards: {**graph.block("scene_analysis", "ablation"), **min_captions(wildcards)},
        splits=analysed_splits,
        decoding=analysed_decoding,
    message:
        "caption images with and without diagnostic objects by {wildcards.captioner}"
    script:
        "../scripts/ablate_objects.py"


rule compare_captions:
    """Compare captions before and after ablation.

    effects: captionlab.ablation.schemas.EFFECTS
    splits: captionlab.ablation.schemas.SPLITS
    """
    input:
        pretrained=lambda wildcards: f"results/ablation/{settings.scene_analysis.pretrained}/captions.parquet",
        finetuned=lambda wildcards: f"results/ablation/{settings.scene_analysis.finetuned}/captions.parquet",
    output:
        effects="results/ablation/effects.parquet",
        splits="results/ablation/splits.parquet",
    log:
        "results/logs/compare_captions.log",
    conda:
        "../../envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=4000,
        runtime=30,
    params:
        **graph.software("compare_captions", "numpy", "scipy"),
        seed=lambda wildcards: settings.scene_analysis.seed,
    message:
        "compare captions before and after ablation"
    script:
        "../scripts/compare_captions.py"
