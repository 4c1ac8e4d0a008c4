"""Probes: can scenes and objects be told from the states of a captioner, before and after finetuning?

Needs: what the stage of ablation makes of scenes and objects, the two captioners, and what these read.
Makes: results/probes/{captioner}/{encodings,scores,search,objects}.parquet
"""


rule encode_scenes:
    input:
        config=paths.captioner("config.json"),
        weights=paths.captioner("model.safetensors"),
        tokenizer=paths.captioner("tokenizer.json"),
        labels=paths.ablation("labels"),
        chosen=paths.ablation("chosen"),
        information=paths.ablation("information"),
        matches=paths.ablation("matches"),
        features=lab.scenes.features,
    output:
        paths.of_captioner("probes", "encodings"),
    log:
        paths.log("encode_scenes/{captioner}"),
    benchmark:
        paths.benchmark("encode_scenes/{captioner}")
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
        encodings=paths.of_captioner("probes", "encodings"),
        tags=lab.scenes.tags_table(),
    output:
        scores=paths.of_captioner("probes", "scores"),
        search=paths.of_captioner("probes", "search"),
        objects=paths.of_captioner("probes", "objects"),
    log:
        paths.log("train_probe/{captioner}"),
    benchmark:
        paths.benchmark("train_probe/{captioner}")
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
