"""Captioners: trained here from scratch, imported (published weights, or weights of another run), or snapshots.

Needs: a corpus and its features, or weights and a tokenizer (docs/data.md).
Makes: results/captioners/{captioner}/{config.json,model.safetensors,tokenizer.json} and, when trained, training.parquet,
training_captions.parquet and snapshots/, of which each snapshot becomes the captioner {captioner}@{snapshot}; where it
is asked for, results/exports/{captioner}/, which other libraries read
"""


rule pretrain_captioner:
    input:
        images=lab.training_table("captioner", "images"),
        captions=lab.reward_models.captions,
        features=lab.training_features,
    output:
        config="results/captioners/{captioner}/config.json",
        weights="results/captioners/{captioner}/model.safetensors",
        tokenizer="results/captioners/{captioner}/tokenizer.json",
        training="results/captioners/{captioner}/training.parquet",
        training_captions="results/captioners/{captioner}/training_captions.parquet",
        snapshots=directory("results/captioners/{captioner}/snapshots"),  # a folder for each number of `snapshots`, if any
        provenance="results/provenance/pretrain_captioner/{captioner}.json",
    log:
        "results/logs/pretrain_captioner/{captioner}.log",
    wildcard_constraints:
        captioner=lab.of_kind("captioners", "pretrained"),
    priority: 10  # Trainings are the longest way through the DAG.
    conda:
        "../../envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=lab.memory(8000, features=1.2, captions=5),
        runtime=1440,
        gpu=1,
    params:
        **lab.software(
            "pretrain_captioner", "numpy", "pycocoevalcap", "torch", "tokenizers", loads=lab.reward_models.used
        ),
        config=lab.captioner_block,
        seed=lab.value("captioner", "seed"),
    message:
        "train the captioner {wildcards.captioner} on references"
    script:
        "../scripts/pretrain_captioner.py"


rule import_captioner:
    input:
        files=lab.files_of("captioner", "weights", "tokenizer"),
        beside=lab.files_of("captioner", "config"),
    output:
        config="results/captioners/{captioner}/config.json",
        weights="results/captioners/{captioner}/model.safetensors",
        tokenizer="results/captioners/{captioner}/tokenizer.json",
        provenance="results/provenance/import_captioner/{captioner}.json",
    log:
        "results/logs/import_captioner/{captioner}.log",
    wildcard_constraints:
        captioner=lab.of_kind("captioners", "imported"),
    conda:
        "../../envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=lab.memory(3000, files=4),
        runtime=30,
    params:
        **lab.software("import_captioner", "torch", "tokenizers", loads=lab.captioner_family),
        config=lab.captioner_block,
    message:
        "import the captioner {wildcards.captioner}"
    script:
        "../scripts/import_captioner.py"


rule take_snapshot:
    input:
        snapshots=lab.snapshots_of_training,
    output:
        config="results/captioners/{captioner}/config.json",
        weights="results/captioners/{captioner}/model.safetensors",
        tokenizer="results/captioners/{captioner}/tokenizer.json",
        training="results/captioners/{captioner}/training.parquet",
        provenance="results/provenance/take_snapshot/{captioner}.json",
    log:
        "results/logs/take_snapshot/{captioner}.log",
    wildcard_constraints:
        captioner=lab.of_kind("captioners", "snapshot"),
    conda:
        "../../envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        **lab.software("take_snapshot"),
        snapshot=lab.value("captioner", "snapshot"),
    message:
        "take the snapshot {wildcards.captioner} of its training"
    script:
        "../scripts/take_snapshot.py"


rule export_captioner:
    input:
        **lab.captioner_inputs,
        image_side=lab.image_side,
    output:
        directory("results/exports/{captioner}"),
        provenance="results/provenance/export_captioner/{captioner}.json",
    log:
        "results/logs/export_captioner/{captioner}.log",
    wildcard_constraints:
        captioner=lab.of_kind("captioners", "pretrained", "imported", "finetuned", "snapshot"),
    conda:
        "../../envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=lab.memory(4000, weights=2, ancestors=2),
        runtime=30,
    params:
        **lab.software("export_captioner", "torch", "tokenizers", loads=lab.captioner_family),
    message:
        "write the captioner {wildcards.captioner} as other libraries read it"
    script:
        "../scripts/export_captioner.py"
