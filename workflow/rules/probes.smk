"""Probes: can scenes and objects be told from the states of a captioner, before and after finetuning?

Needs: what the stage of ablation makes of scenes and objects, the two captioners, and what these read.
Makes: results/probes/{captioner}/{encodings,scores,search,objects}.parquet
"""


rule encode_scenes:
    input:
        config="results/captioners/{captioner}/config.json",
        weights="results/captioners/{captioner}/model.safetensors",
        tokenizer="results/captioners/{captioner}/tokenizer.json",
        ancestors=ancestors,
        labels="results/ablation/labels.parquet",
        chosen="results/ablation/chosen.parquet",
        pmi="results/ablation/pmi.parquet",
        matches="results/ablation/matches.parquet",
        features=lab.scene_analysis.features,
    output:
        "results/probes/{captioner}/encodings.parquet",
        provenance="results/provenance/encode_scenes/{captioner}.json",
    log:
        "results/logs/encode_scenes/{captioner}.log",
    wildcard_constraints:
        captioner=lab.scene_analysis.captioners(),
    conda:
        "../../envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=graph.memory(8000, features=1),
        runtime=240,
        gpu=1,
    params:
        **graph.software("encode_scenes", "numpy", "torch", "tokenizers", loads=lab.scene_analysis.loaded()),
        config={
            **lab.scene_analysis.part("ablation", "mask"),
            **lab.scene_analysis.part_on_labels("probes", "scenes", "selection", "images", "objects"),
        },
        splits=lab.scene_analysis.splits(),
        seed=lab.scene_analysis.seed(),
    message:
        "encode images of scenes by {wildcards.captioner}"
    script:
        "../scripts/encode_scenes.py"


rule train_probe:
    input:
        encodings="results/probes/{captioner}/encodings.parquet",
        tags=lab.scene_analysis.tags_table(),
    output:
        scores="results/probes/{captioner}/scores.parquet",
        search="results/probes/{captioner}/search.parquet",
        objects="results/probes/{captioner}/objects.parquet",
        provenance="results/provenance/train_probe/{captioner}.json",
    log:
        "results/logs/train_probe/{captioner}.log",
    wildcard_constraints:
        captioner=lab.scene_analysis.captioners(),
    conda:
        "../../envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=graph.memory(4000, tags=10),
        runtime=480,
    params:
        **graph.software("train_probe", "numpy", "scikit-learn", "scipy"),
        config=lab.scene_analysis.part("probes", "test_shares", "seeds", "search"),
        captioner=lab.scene_analysis.role,
        seed=lab.scene_analysis.seed(),
    message:
        "train probes on the states of {wildcards.captioner}"
    script:
        "../scripts/train_probe.py"
