"""Finetuning: a captioner learns from a reward and starts from its parent.

Needs: the parent, the features of the corpus by the captioner's encoder and by the rewarding retriever; no captions.
Makes: results/captioners/{captioner}/, the same layout as the parent's
"""


rule finetune_captioner:
    input:
        parent_config=lab.parent("config.json"),
        parent_weights=lab.parent("model.safetensors"),
        parent_tokenizer=lab.parent("tokenizer.json"),
        images=lab.training_table("images"),
        features=lab.training_features,
        retriever_config=lab.reward_retriever("config.json"),
        retriever_weights=lab.reward_retriever("model.safetensors"),
        retriever_features=lab.reward_features,
    output:
        config="results/captioners/{captioner}/config.json",
        weights="results/captioners/{captioner}/model.safetensors",
        tokenizer="results/captioners/{captioner}/tokenizer.json",
        training="results/captioners/{captioner}/training.parquet",
    log:
        "results/logs/finetune_captioner/{captioner}.log",
    benchmark:
        "results/benchmarks/finetune_captioner/{captioner}.tsv"
    wildcard_constraints:
        captioner=lab.captioners_of("finetuned"),
    # Trainings are the longest way through the DAG.
    priority: 10
    conda:
        "../../envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=lab.memory(12000, features=1.2, retriever_features=1.2),
        runtime=2880,
        gpu=1,
    params:
        code=lab.family_code("finetune_captioner"),
        versions=lab.versions("numpy", "torch", "open_clip_torch", "tokenizers"),
        config=lab.captioner_block,
        seed=lab.captioner_seed,
    message:
        "finetune the captioner {wildcards.captioner}"
    script:
        "../scripts/finetune_captioner.py"
