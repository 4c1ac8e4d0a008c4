"""Probes: can scenes and objects be told from the states of a captioner, before and after finetuning?

Needs: what the stage of ablation makes of scenes and objects, the two captioners, and what these read.
Makes: results/probes/{captioner}/{encodings,scores,search,objects}.parquet
"""


rule encode_scenes:
    input:
        config="results/captioners/{captioner}/config.json",
        weights="results/captioners/{captioner}/model.safetensors",
        tokenizer="results/captioners/{captioner}/tokenizer.json",
        labels="results/ablation/labels.parquet",
        chosen="results/ablation/chosen.parquet",
        information="results/ablation/information.parquet",
        matches="results/ablation/matches.parquet",
        features=lab.scenes.features,
    output:
        "results/probes/{captioner}/encodings.parquet",
    log:
        "results/logs/encode_scenes/{captioner}.log",
    benchmark:
        "results/benchmarks/encode_scenes/{captioner}.tsv"
    wildcard_constraints:
        captioner=lab.scenes.captioners(),
    conda:
        "../../envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=lab.memory(8000, features=1),
        runtime=240,
        gpu=1,
    params:
        code=lab.scenes.code("encode_scenes"),
        versions=lab.versions("numpy", "torch", "tokenizers"),
        config={
            **lab.scenes.part("probing", "scenes", "selection", "images", "objects"),
            **lab.scenes.part("ablation", "mask"),
            **lab.scenes.least_captions(),
        },
        splits=lab.scenes.splits(),
        seed=lab.scenes.seed(),
    message:
        "encode images of scenes by {wildcards.captioner}"
    script:
        "../scripts/encode_scenes.py"


rule train_probe:
    input:
        encodings="results/probes/{captioner}/encodings.parquet",
        tags=lab.scenes.tags_table(),
    output:
        scores="results/probes/{captioner}/scores.parquet",
        search="results/probes/{captioner}/search.parquet",
        objects="results/probes/{captioner}/objects.parquet",
    log:
        "results/logs/train_probe/{captioner}.log",
    benchmark:
        "results/benchmarks/train_probe/{captioner}.tsv"
    wildcard_constraints:
        captioner=lab.scenes.captioners(),
    conda:
        "../../envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=lab.memory(4000, tags=10),
        runtime=480,
    params:
        code=lab.code("train_probe"),
        versions=lab.versions("numpy", "scikit-learn", "scipy"),
        config=lab.scenes.part("probing", "test_shares", "seeds"),
        captioner=lab.scenes.role,
        seed=lab.scenes.seed(),
    message:
        "train probes on the states of {wildcards.captioner}"
    script:
        "../scripts/train_probe.py"
