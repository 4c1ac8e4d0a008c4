"""Captioners: trained here from scratch, imported (published weights, or weights of another run), or snapshots.

Needs: a corpus and its features, or weights and a tokenizer (docs/data.md).
"""


rule pretrain_captioner:
    """Train a captioner from scratch on references.

    config: architecture and settings of the captioner. If the weights are adapters, it names the captioner that they
        belong to, and the digest of that captioner's weights
    weights: weights of the captioner. With `lora` and without `merge`, they are adapters alone, by the names of
        `peft`, and the folder of the parent is needed too
    tokenizer: tokenizer of the captioner
    training: captionlab.storage.schemas.TRAINING. `reward_{scorer}` is a part of a reward. `validation_cider` is
        there for updates after which the captioner was validated
    training_captions: captionlab.storage.schemas.TRAINING_CAPTIONS. There are eight images. A training without
        `validation` has no rows
    snapshots: a folder for each of the `snapshots` of the training. A training without `snapshots` has an empty
        folder
    """
    input:
        images=lambda wildcards: f"results/corpora/{settings.captioners[wildcards.captioner].corpus}/images.parquet",
        captions=training_references,
        features=training_images,
        checks=lambda wildcards: checks_before_training("captioners", wildcards.captioner),
    output:
        config="results/captioners/{captioner}/config.json",
        weights="results/captioners/{captioner}/model.safetensors",
        tokenizer="results/captioners/{captioner}/tokenizer.json",
        training="results/captioners/{captioner}/training.parquet",
        training_captions="results/captioners/{captioner}/training_captions.parquet",
        snapshots=directory("results/captioners/{captioner}/snapshots"),  # a folder for each number of `snapshots`, if any
    log:
        "results/logs/pretrain_captioner/{captioner}.log",
    wildcard_constraints:
        captioner=graph.names_of("captioners", "pretrained"),
    priority: 10  # Trainings are the longest way through the DAG.
    conda:
        "../../envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=graph.memory(8000, features=1.2, captions=5),
        runtime=1440,
        gpu=1,
    params:
        **graph.software("pretrain_captioner", "numpy", "pycocoevalcap", "torch", "tokenizers", loads=training_modules),
        config=training_config,
        seed=lambda wildcards: settings.captioners[wildcards.captioner].seed,
    message:
        "train the captioner {wildcards.captioner} on references"
    script:
        "../scripts/pretrain_captioner.py"


rule import_captioner:
    """Import a captioner, published or of another run."""
    input:
        files=lambda wildcards: graph.files_of("captioners", wildcards.captioner, "weights", "tokenizer"),
        beside=lambda wildcards: graph.files_of("captioners", wildcards.captioner, "config"),
    output:
        config="results/captioners/{captioner}/config.json",
        weights="results/captioners/{captioner}/model.safetensors",
        tokenizer="results/captioners/{captioner}/tokenizer.json",
    log:
        "results/logs/import_captioner/{captioner}.log",
    wildcard_constraints:
        captioner=graph.names_of("captioners", "imported"),
    conda:
        "../../envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=graph.memory(3000, files=4),
        runtime=30,
    params:
        **graph.software("import_captioner", "torch", "tokenizers", loads=captioner_modules),
        config=training_config,
    message:
        "import the captioner {wildcards.captioner}"
    script:
        "../scripts/import_captioner.py"


rule take_snapshot:
    """Make a snapshot of a training a captioner.

    config: architecture and settings of the captioner, and after how many epochs and updates the snapshot was taken
    weights: weights of the snapshot
    tokenizer: tokenizer of the captioner
    training: captionlab.storage.schemas.TRAINING. The last update is the snapshot's
    """
    input:
        snapshots="results/captioners/{training}/snapshots",
    output:
        config="results/captioners/{training}@{snapshot}/config.json",
        weights="results/captioners/{training}@{snapshot}/model.safetensors",
        tokenizer="results/captioners/{training}@{snapshot}/tokenizer.json",
        training="results/captioners/{training}@{snapshot}/training.parquet",
    log:
        "results/logs/take_snapshot/{training}@{snapshot}.log",
    wildcard_constraints:
        training=graph.names_of("captioners", "pretrained", "finetuned"),
        snapshot="[0-9]+",
    conda:
        "../../envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        **graph.software("take_snapshot"),
        snapshot=lambda wildcards: int(wildcards.snapshot),
    message:
        "keep the weights of {wildcards.training} after {wildcards.snapshot} epochs or updates as a captioner"
    script:
        "../scripts/take_snapshot.py"


def image_side(wildcards):
    """Return the weights of the encoder whose patches a captioner reads."""
    encoder = settings.encoders.get(getattr(graph.root_of(wildcards.captioner), "encoder", None))
    patches = getattr(encoder, "patches_of", None)
    return [f"results/encoders/{patches}/model.safetensors"] if patches else []


rule export_captioner:
    """Write a captioner as other libraries read it, if the folder is asked for by its path.

    output: the captioner as other libraries read it. Adapters are `adapter_config.json` and
        `adapter_model.safetensors`, which `peft.PeftModel.from_pretrained` puts onto the parent
    """
    input:
        config="results/captioners/{captioner}/config.json",
        weights="results/captioners/{captioner}/model.safetensors",
        tokenizer="results/captioners/{captioner}/tokenizer.json",
        ancestors=ancestors,
        image_side=image_side,
    output:
        directory("results/exports/{captioner}"),
    log:
        "results/logs/export_captioner/{captioner}.log",
    wildcard_constraints:
        captioner=graph.names_of("captioners", "pretrained", "imported", "finetuned", "finetuned-by-trl", "snapshot"),
    conda:
        "../../envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=graph.memory(4000, weights=2, ancestors=2),
        runtime=30,
    params:
        **graph.software("export_captioner", "torch", "tokenizers", loads=captioner_modules),
    message:
        "write the captioner {wildcards.captioner} as other libraries read it"
    script:
        "../scripts/export_captioner.py"
