"""Scorers: how well does a caption match an image?

Needs: a corpus; for scorers that read regions, boxes with an encoder, a detector's weights or files of regions; for a
scorer, weights and a vocabulary, or an encoder, or nothing when it is trained here (docs/data.md).
Makes: results/regions/{regions}/{corpus}/{shard}.parquet; results/scorers/{scorer}/{config.json,model.safetensors},
vocab.txt for those that read regions, training.parquet and matching.parquet for those trained here; and
results/evaluation/{captioner}/{evaluation}/alignment.parquet, a row for each caption and scorer
"""


rule extract_regions:
    input:
        images="results/corpora/{corpus}/images.parquet",
        objects=lab.regions.objects("regions"),
        encoder_config=lab.embedding.file_of(lab.regions.pooled, "config.json"),
        encoder_weights=lab.embedding.file_of(lab.regions.pooled, "model.safetensors"),
        weights=lab.files_of("regions", "weights"),
    output:
        "results/regions/{regions}/{corpus}/{shard}.parquet",
        provenance="results/provenance/extract_regions/{regions}/{corpus}/{shard}.json",
    log:
        "results/logs/extract_regions/{regions}/{corpus}/{shard}.log",
    wildcard_constraints:
        regions=lab.of_kind("regions", "boxes", "detector"),
    conda:
        "../../envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=lab.memory(8000, images=2, objects=10),
        runtime=720,
        gpu=1,
    params:
        **lab.software(
            "extract_regions", "torch", "torchvision", "pillow", loads=lab.embedding.loaded_of(lab.regions.pooled)
        ),
        config=lab.settings("regions", "files", "encoder"),
    message:
        "extract the regions {wildcards.regions} of part {wildcards.shard} of {wildcards.corpus}"
    script:
        "../scripts/extract_regions.py"


rule read_regions:
    input:
        images="results/corpora/{corpus}/images.parquet",
        files=lab.files_of("regions", "files"),
    output:
        "results/regions/{regions}/{corpus}/{shard}.parquet",
        provenance="results/provenance/read_regions/{regions}/{corpus}/{shard}.json",
    log:
        "results/logs/read_regions/{regions}/{corpus}/{shard}.log",
    wildcard_constraints:
        regions=lab.of_kind("regions", "files"),
    conda:
        "../../envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=lab.memory(6000, images=2),
        runtime=720,
    params:
        **lab.software("read_regions"),
        config=lab.settings("regions", "files", "encoder"),
    message:
        "read the regions {wildcards.regions} of {wildcards.corpus}"
    script:
        "../scripts/read_regions.py"


rule import_scorer:
    input:
        weights=lab.scoring.file("weights"),
        vocabulary=lab.scoring.file("vocabulary"),
        beside=lab.files_of("scorer", "config"),
    output:
        config="results/scorers/{scorer}/config.json",
        weights="results/scorers/{scorer}/model.safetensors",
        vocabulary="results/scorers/{scorer}/vocab.txt",
        provenance="results/provenance/import_scorer/{scorer}.json",
    log:
        "results/logs/import_scorer/{scorer}.log",
    wildcard_constraints:
        scorer=lab.of_kind("scorers", "imported"),
    conda:
        "../../envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=lab.memory(3000, weights=4),
        runtime=30,
    params:
        **lab.software("import_scorer", "torch", "tokenizers", loads=lab.scoring.used),
        config=lab.scoring.block,
    message:
        "import the scorer {wildcards.scorer}"
    script:
        "../scripts/import_scorer.py"


rule adopt_encoder:
    input:
        config=lab.scoring.encoder("config.json"),
        weights=lab.scoring.encoder("model.safetensors"),
    output:
        config="results/scorers/{scorer}/config.json",
        weights="results/scorers/{scorer}/model.safetensors",
        provenance="results/provenance/adopt_encoder/{scorer}.json",
    log:
        "results/logs/adopt_encoder/{scorer}.log",
    wildcard_constraints:
        scorer=lab.of_kind("scorers", "encoder"),
    conda:
        "../../envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=lab.memory(3000, weights=4),
        runtime=30,
    params:
        **lab.software("adopt_encoder", "torch", "tokenizers", loads=lab.scoring.used),
        config=lab.scoring.block,
    message:
        "make an encoder the scorer {wildcards.scorer}"
    script:
        "../scripts/adopt_encoder.py"


rule pretrain_scorer:
    input:
        images=lab.training_table("scorer", "images"),
        captions=lab.training_table("scorer", "captions"),
        regions=lab.scoring.training_regions,
        neighbours=lab.scoring.training_neighbours,
        encoder_config=lab.embedding.file_of(lab.scoring.words_encoder, "config.json"),
        encoder_weights=lab.embedding.file_of(lab.scoring.words_encoder, "model.safetensors"),
    output:
        config="results/scorers/{scorer}/config.json",
        weights="results/scorers/{scorer}/model.safetensors",
        vocabulary="results/scorers/{scorer}/vocab.txt",
        training="results/scorers/{scorer}/training.parquet",
        matching="results/scorers/{scorer}/matching.parquet",
        provenance="results/provenance/pretrain_scorer/{scorer}.json",
    log:
        "results/logs/pretrain_scorer/{scorer}.log",
    wildcard_constraints:
        scorer=lab.of_kind("scorers", "trained"),
    priority: 10  # Trainings are the longest way through the DAG.
    conda:
        "../../envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=lab.memory(8000, captions=20, neighbours=2),
        runtime=1440,
        gpu=1,
    params:
        **lab.software("pretrain_scorer", "numpy", "torch", "tokenizers", loads=lab.scoring.trained_with),
        config=lab.scoring.block,
        seed=lab.value("scorer", "seed"),
        split=lab.scoring.training_split,
    message:
        "train the scorer {wildcards.scorer} to match images and captions"
    script:
        "../scripts/pretrain_scorer.py"


rule score_alignment:
    input:
        captions="results/captions/{captioner}/{evaluation}.parquet",
        scorers=lab.scoring.evaluated_folders,
        features=lab.scoring.evaluated_features,
    output:
        "results/evaluation/{captioner}/{evaluation}/alignment.parquet",
        provenance="results/provenance/score_alignment/{captioner}/{evaluation}.json",
    log:
        "results/logs/score_alignment/{captioner}/{evaluation}.log",
    conda:
        "../../envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=lab.memory(8000, captions=20, scorers=2),
        runtime=480,
        gpu=1,
    params:
        **lab.software("score_alignment", "torch", "tokenizers", loads=lab.scoring.evaluated_with),
        sources=lab.scoring.sources,
    message:
        "score how well the captions of {wildcards.captioner} for {wildcards.evaluation} match their images"
    script:
        "../scripts/score_alignment.py"
