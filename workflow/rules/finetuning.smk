"""Finetuning: a captioner learns from a reward, or from references, and starts from its parent.

Needs: the parent, the features of the corpus by the captioner's encoder; the features of the bags of look-alikes, if
batches are made of them; the files and features of each retriever or
scorer that the reward asks; the questions that it asks; captions only if a reward or a validation reads references.
"""


def parent_ancestors(wildcards):
    """Return the files of the ancestors that a parent with adapters is read with."""
    return graph.ancestor_files(settings.captioners[wildcards.captioner].parent)


def reward_model_files(wildcards):
    """Return the files of the retrievers, scorers and questions that the reward asks."""
    files, corpus = [], settings.captioners[wildcards.captioner].corpus
    for kind, name in (model.split("/") for model in graph.reward_models(wildcards.captioner)):
        if kind == "scorers":
            files += graph.scorer_files(name)
        elif kind == "questions":
            files.append(f"results/questions/{name}/{corpus}.parquet")
        else:
            files += [f"results/encoders/{name}/config.json", f"results/encoders/{name}/model.safetensors"]
    return files


def reward_model_features(wildcards):
    """Return the features of the training corpus that the models of the reward read."""
    models = graph.reward_models(wildcards.captioner).values()
    every = dict.fromkeys(path for model in models for path in model["features"])
    return [path for path in every if path.startswith("results/features/")]


def reward_model_regions(wildcards):
    """Return the regions of the training corpus that the models of the reward read."""
    models = graph.reward_models(wildcards.captioner).values()
    every = dict.fromkeys(path for model in models for path in model["features"])
    return [path for path in every if path.startswith("results/regions/")]


def hard_negatives(wildcards):
    """Return the nearest neighbours of the training images, if the reward has hard negatives."""
    models = graph.reward_models(wildcards.captioner).values()
    return [path for model in models for path in model.get("neighbours", [])]


def bag_features(wildcards):
    """Return the features by which training images are look-alikes, if the objective has batches of bags."""
    return graph.bag_features(wildcards.captioner)


def reward_model_folders(wildcards):
    """Return the models and questions that the reward asks: the folder of each model, and the tables that are read."""
    return graph.reward_models(wildcards.captioner)


# Inputs of rules that finetune a captioner.
FINETUNING_INPUTS = dict(
    parent_config=lambda wildcards: f"results/captioners/{settings.captioners[wildcards.captioner].parent}/config.json",
    parent_weights=lambda wildcards: f"results/captioners/{settings.captioners[wildcards.captioner].parent}/model.safetensors",
    parent_tokenizer=lambda wildcards: f"results/captioners/{settings.captioners[wildcards.captioner].parent}/tokenizer.json",
    parent_ancestors=parent_ancestors,
    images=lambda wildcards: f"results/corpora/{settings.captioners[wildcards.captioner].corpus}/images.parquet",
    features=training_images,
    captions=training_references,
    reward_models=reward_model_files,
    reward_models_features=reward_model_features,
    reward_models_regions=reward_model_regions,
    neighbours=hard_negatives,
    bag_features=bag_features,
    checks=lambda wildcards: checks_before_training("captioners", wildcards.captioner),
)


rule finetune_captioner:
    """Finetune a captioner by a reward or on references, from its parent on."""
    input:
        **FINETUNING_INPUTS,
    output:
        config="results/captioners/{captioner}/config.json",
        weights="results/captioners/{captioner}/model.safetensors",
        tokenizer="results/captioners/{captioner}/tokenizer.json",
        training="results/captioners/{captioner}/training.parquet",
        training_captions="results/captioners/{captioner}/training_captions.parquet",
        snapshots=directory("results/captioners/{captioner}/snapshots"),  # a folder for each number of `snapshots`, if any
    log:
        "results/logs/finetune_captioner/{captioner}.log",
    wildcard_constraints:
        captioner=graph.names_of("captioners", "finetuned"),
    priority: 10  # Trainings are the longest way through the DAG.
    conda:
        "../../envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=graph.memory(
            12000,
            parent_weights=4,  # with Adam's averages, and a copy for the divergence
            parent_ancestors=2,
            features=1.2,
            captions=5,
            reward_models=2,
            reward_models_features=1.2,
            bag_features=2.5,
        ),
        runtime=2880,
        gpu=1,
    params:
        **graph.software("finetune_captioner", "numpy", "pycocoevalcap", "torch", "tokenizers", loads=training_modules),
        config=training_config,
        reward_models=reward_model_folders,
        seed=lambda wildcards: settings.captioners[wildcards.captioner].seed,
    message:
        "finetune the captioner {wildcards.captioner}"
    script:
        "../scripts/finetune_captioner.py"


rule finetune_with_trl:
    """Finetune a captioner by TRL on accelerate, in one process or in those of its file `accelerate`."""
    input:
        **FINETUNING_INPUTS,
        accelerate=lambda wildcards: graph.files_of("captioners", wildcards.captioner, "accelerate"),
    output:
        config="results/captioners/{captioner}/config.json",
        weights="results/captioners/{captioner}/model.safetensors",
        tokenizer="results/captioners/{captioner}/tokenizer.json",
        training="results/captioners/{captioner}/training.parquet",
        training_captions="results/captioners/{captioner}/training_captions.parquet",
        snapshots=directory("results/captioners/{captioner}/snapshots"),  # empty
    log:
        "results/logs/finetune_with_trl/{captioner}.log",
    wildcard_constraints:
        captioner=graph.names_of("captioners", "finetuned-by-trl"),
    priority: 10  # Trainings are the longest way through the DAG.
    conda:
        "../../envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=graph.memory(
            12000,
            parent_weights=4,  # with Adam's averages, and a copy for the divergence
            parent_ancestors=2,
            features=1.2,
            captions=5,
            reward_models=2,
            reward_models_features=1.2,
        ),
        runtime=2880,
        gpu=1,
    params:
        **graph.software(
            "finetune_with_trl",
            "numpy",
            "pycocoevalcap",
            "torch",
            "tokenizers",
            "trl",
            "accelerate",
            loads=training_modules,
        ),
        config=training_config,
        reward_models=reward_model_folders,
        seed=lambda wildcards: settings.captioners[wildcards.captioner].seed,
    message:
        "finetune the captioner {wildcards.captioner} by TRL"
    script:
        "../scripts/finetune_with_trl.py"


def greedy_decoding(wildcards):
    """Return the settings that greedy decoding shares with the decoding of the training, such as the end."""
    decoding = graph.block("decodings", settings.captioners[wildcards.captioner].objective.decoding)
    shared = ("max_tokens", "repetition_penalty", "rules", "stop")
    return {key: decoding[key] for key in shared if key in decoding}


rule measure_rewards:
    """Measure the reward of greedy captions of training images, before and after a training by a reward.

    output: captionlab.storage.schemas.REWARDS. The file is made if the config has `validity`
    """
    input:
        config="results/captioners/{captioner}/config.json",
        weights="results/captioners/{captioner}/model.safetensors",
        tokenizer="results/captioners/{captioner}/tokenizer.json",
        ancestors=ancestors,
        parent_config=lambda wildcards: f"results/captioners/{settings.captioners[wildcards.captioner].parent}/config.json",
        parent_weights=lambda wildcards: f"results/captioners/{settings.captioners[wildcards.captioner].parent}/model.safetensors",
        parent_tokenizer=lambda wildcards: f"results/captioners/{settings.captioners[wildcards.captioner].parent}/tokenizer.json",
        parent_ancestors=parent_ancestors,
        images=lambda wildcards: f"results/corpora/{settings.captioners[wildcards.captioner].corpus}/images.parquet",
        features=training_images,
        captions=training_references,
        reward_models=reward_model_files,
        reward_models_features=reward_model_features,
        reward_models_regions=reward_model_regions,
        neighbours=hard_negatives,
    output:
        "results/captioners/{captioner}/rewards.parquet",
    log:
        "results/logs/measure_rewards/{captioner}.log",
    wildcard_constraints:
        captioner=any_of(list(graph.rewarded_trainings())),
    conda:
        "../../envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=graph.memory(
            8000,
            weights=2,
            ancestors=2,
            parent_weights=2,
            parent_ancestors=2,
            features=1.2,
            captions=5,
            reward_models=2,
            reward_models_features=1.2,
        ),
        runtime=240,
        gpu=1,
    params:
        **graph.software("measure_rewards", "numpy", "pycocoevalcap", "torch", "tokenizers", loads=training_modules),
        batch=lambda wildcards: settings.captioners[wildcards.captioner].optimizer.batch,
        decoding=greedy_decoding,
        reward=lambda wildcards: graph.training(wildcards.captioner)["objective"]["reward"],
        reward_models=reward_model_folders,
    message:
        "measure the reward of greedy captions of training images before and after the training of {wildcards.captioner}"
    script:
        "../scripts/measure_rewards.py"
