"""Finetuning: a captioner learns from a reward, or from references, and starts from its parent.

Needs: the parent, the features of the corpus by the captioner's encoder; of each retriever or scorer that the reward
asks, its files and its features of the corpus; captions only where a reward or a validation reads references.
Makes: results/captioners/{captioner}/, the same layout as the parent's; where the config asks for validity and the
captioner was trained by a reward, also rewards.parquet
"""


rule finetune_captioner:
    input:
        parent_config=lab.parent("config.json"),
        parent_weights=lab.parent("model.safetensors"),
        parent_tokenizer=lab.parent("tokenizer.json"),
        parent_ancestors=lab.parent_ancestors,
        images=lab.training_table("captioner", "images"),
        features=lab.training_features,
        captions=lab.reward_models.captions,
        reward_models=lab.reward_models.files,
        reward_models_features=lab.reward_models.tables("features"),
        reward_models_regions=lab.reward_models.tables("regions"),
        neighbours=lab.reward_models.neighbours,
    output:
        config="results/captioners/{captioner}/config.json",
        weights="results/captioners/{captioner}/model.safetensors",
        tokenizer="results/captioners/{captioner}/tokenizer.json",
        training="results/captioners/{captioner}/training.parquet",
        training_captions="results/captioners/{captioner}/training_captions.parquet",
        snapshots=directory("results/captioners/{captioner}/snapshots"),  # a folder for each number of `snapshots`, if any
        provenance="results/provenance/finetune_captioner/{captioner}.json",
    log:
        "results/logs/finetune_captioner/{captioner}.log",
    wildcard_constraints:
        captioner=lab.of_kind("captioners", "finetuned"),
    priority: 10  # Trainings are the longest way through the DAG.
    conda:
        "../../envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=lab.memory(
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
        **lab.software(
            "finetune_captioner", "numpy", "pycocoevalcap", "torch", "tokenizers", loads=lab.reward_models.used
        ),
        config=lab.captioner_block,
        reward_models=lab.reward_models.asked,
        seed=lab.value("captioner", "seed"),
    message:
        "finetune the captioner {wildcards.captioner}"
    script:
        "../scripts/finetune_captioner.py"


rule measure_rewards:
    input:
        **lab.captioner_inputs,
        parent_config=lab.parent("config.json"),
        parent_weights=lab.parent("model.safetensors"),
        parent_tokenizer=lab.parent("tokenizer.json"),
        parent_ancestors=lab.parent_ancestors,
        images=lab.training_table("captioner", "images"),
        features=lab.training_features,
        captions=lab.reward_models.captions,
        reward_models=lab.reward_models.files,
        reward_models_features=lab.reward_models.tables("features"),
        reward_models_regions=lab.reward_models.tables("regions"),
        neighbours=lab.reward_models.neighbours,
    output:
        "results/captioners/{captioner}/rewards.parquet",
        provenance="results/provenance/measure_rewards/{captioner}.json",
    log:
        "results/logs/measure_rewards/{captioner}.log",
    wildcard_constraints:
        captioner=lab.validity.rewarded_pattern(),
    conda:
        "../../envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=lab.memory(
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
        **lab.software("measure_rewards", "numpy", "pycocoevalcap", "torch", "tokenizers", loads=lab.reward_models.used),
        batch=lab.validity.batch,
        decoding=lab.validity.greedy,
        reward=lab.validity.reward,
        reward_models=lab.reward_models.asked,
    message:
        "measure the reward of greedy captions of training images before and after the training of {wildcards.captioner}"
    script:
        "../scripts/measure_rewards.py"
