"""Probes: can scenes and objects be told from the states of a captioner, before and after finetuning?

Needs: what the stage of ablation makes of scenes and objects, the two captioners, and what these read.
Makes: results/probes/{captioner}/{encodings,scores,search,objects}.parquet
"""


rule encode_scenes:
    input:
        **lab.captioner_inputs,
        **paths.ablation.named("labels", "chosen", "pmi", "matches"),
        features=lab.scene_analysis.features,
    output:
        paths.of_captioner("probes", "encodings"),
        provenance=paths.provenance("encode_scenes/{captioner}"),
    log:
        paths.log("encode_scenes/{captioner}"),
    wildcard_constraints:
        captioner=lab.scene_analysis.captioners(),
    conda:
        "../../envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=lab.memory(8000, features=1),
        runtime=240,
        gpu=1,
    params:
        **lab.software("encode_scenes", "numpy", "torch", "tokenizers", loads=lab.scene_analysis.loaded()),
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
        encodings=paths.of_captioner("probes", "encodings"),
        tags=lab.scene_analysis.tags_table(),
    output:
        **paths.of_captioner.named("scores", "search", "objects", stage="probes"),
        provenance=paths.provenance("train_probe/{captioner}"),
    log:
        paths.log("train_probe/{captioner}"),
    wildcard_constraints:
        captioner=lab.scene_analysis.captioners(),
    conda:
        "../../envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=lab.memory(4000, tags=10),
        runtime=480,
    params:
        **lab.software("train_probe", "numpy", "scikit-learn", "scipy"),
        config=lab.scene_analysis.part("probes", "test_shares", "seeds", "search"),
        captioner=lab.scene_analysis.role,
        seed=lab.scene_analysis.seed(),
    message:
        "train probes on the states of {wildcards.captioner}"
    script:
        "../scripts/train_probe.py"
