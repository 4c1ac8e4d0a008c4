"""Attention: what tags and regions attend to, before and after a captioner is finetuned on scenes.

Needs: the two captioners and the tables of regions and tags that they read; for the ranking of objects, scene labels.
"""


rule extract_attention:
    """Extract what tags and regions attend to, in the images of the analysis of scenes.

    blocks: captionlab.attention.schemas.BLOCKS
    received: captionlab.attention.schemas.RECEIVED
    shares: captionlab.attention.schemas.SHARES. The table has every layer
    matrices: captionlab.attention.schemas.MATRICES. The table has a few images, each in the analysed layer, in a
        layer halfway up and in the last layer
    """
    input:
        config="results/captioners/{captioner}/config.json",
        weights="results/captioners/{captioner}/model.safetensors",
        tokenizer="results/captioners/{captioner}/tokenizer.json",
        ancestors=ancestors,
        images=lambda wildcards: f"results/corpora/{settings.scene_analysis.corpus}/images.parquet",
        features=analysed_images,
    output:
        blocks="results/attention/{captioner}/blocks.parquet",
        received="results/attention/{captioner}/received.parquet",
        shares="results/attention/{captioner}/shares.parquet",
        matrices="results/attention/{captioner}/matrices.parquet",
    log:
        "results/logs/extract_attention/{captioner}.log",
    wildcard_constraints:
        captioner=analysed_captioners(),
    conda:
        "../../envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=graph.memory(8000, features=1),
        runtime=480,
        gpu=1,
    params:
        **graph.software("extract_attention", "numpy", "torch", "tokenizers", loads=analysed_modules),
        config=lambda wildcards: graph.block("scene_analysis", "attention"),
        corpus=lambda wildcards: settings.scene_analysis.corpus,
        split=lambda wildcards: settings.corpora[settings.scene_analysis.corpus].evaluation_split,
        decoding=analysed_decoding,
        seed=lambda wildcards: settings.scene_analysis.seed,
    message:
        "extract what {wildcards.captioner} attends to"
    script:
        "../scripts/extract_attention.py"


rule estimate_density:
    """Estimate how attention is spread, before and after finetuning.

    densities: captionlab.attention.schemas.DENSITIES
    differences: captionlab.attention.schemas.DIFFERENCES
    """
    input:
        pretrained=lambda wildcards: f"results/attention/{settings.scene_analysis.pretrained}/blocks.parquet",
        finetuned=lambda wildcards: f"results/attention/{settings.scene_analysis.finetuned}/blocks.parquet",
    output:
        densities="results/attention/densities.parquet",
        differences="results/attention/differences.parquet",
    log:
        "results/logs/estimate_density.log",
    conda:
        "../../envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=4000,
        runtime=30,
    params:
        **graph.software("estimate_density", "numpy"),
        config=lambda wildcards: graph.block("scene_analysis", "density"),
        seed=lambda wildcards: settings.scene_analysis.seed,
    message:
        "estimate how attention is spread before and after finetuning"
    script:
        "../scripts/estimate_density.py"


rule rank_objects:
    """Rank the objects of scenes by attention and by frequency.

    rankings: captionlab.attention.schemas.RANKINGS
    overlaps: captionlab.attention.schemas.OVERLAPS
    correlations: captionlab.attention.schemas.CORRELATIONS. The correlation is between the two measures of overlap
    """
    input:
        labels="results/ablation/labels.parquet",
        chosen="results/ablation/chosen.parquet",
        pretrained=lambda wildcards: f"results/attention/{settings.scene_analysis.pretrained}/received.parquet",
        finetuned=lambda wildcards: f"results/attention/{settings.scene_analysis.finetuned}/received.parquet",
        tags=analysed_tags,
    output:
        rankings="results/attention/rankings.parquet",
        overlaps="results/attention/overlaps.parquet",
        correlations="results/attention/correlations.parquet",
    log:
        "results/logs/rank_objects.log",
    conda:
        "../../envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=graph.memory(4000, tags=10),
        runtime=60,
    params:
        **graph.software("rank_objects", "numpy"),
        config=lambda wildcards: {**graph.block("scene_analysis", "ranking"), **min_captions(wildcards)},
        split=lambda wildcards: settings.corpora[settings.scene_analysis.corpus].evaluation_split,
        seed=lambda wildcards: settings.scene_analysis.seed,
    message:
        "rank the objects of scenes by attention and by frequency"
    script:
        "../scripts/rank_objects.py"
