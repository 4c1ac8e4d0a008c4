"""Generation: the captions of an evaluation, by a captioner or from a file.

Needs: a captioner and the features of every corpus of the evaluation, or files of captions made elsewhere.
Makes: results/captions/{captioner}/{evaluation}.parquet, where the evaluation has shards of results/captions/{captioner}/{evaluation}/
"""


rule generate_captions:
    input:
        **lab.captioner_inputs,
        images=lab.evaluated_tables("images"),
        described=lab.described,
        features=lab.evaluated_features,
    output:
        "results/captions/{captioner}/{evaluation}.parquet",
        provenance="results/provenance/generate_captions/{captioner}/{evaluation}.json",
    log:
        "results/logs/generate_captions/{captioner}/{evaluation}.log",
    wildcard_constraints:
        captioner=lab.of_kind("captioners", "pretrained", "imported", "finetuned", "snapshot"),
        evaluation=lab.of_kind("evaluations", "whole"),
    conda:
        "../../envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=lab.memory(8000, weights=2, ancestors=2, features=0.1),
        runtime=480,
        gpu=1,
    params:
        **lab.software("generate_captions", "torch", "tokenizers", loads=lab.captioner_family),
        corpora=lab.evaluated_corpora,
        splits=lab.of_corpora(lab.evaluation_split),
        decoding=lab.decoding_block,
        seed=lab.decoding_seed,
        shard=lambda wildcards: wildcards.get("shard", "0-of-1"),
    message:
        "caption the images of {wildcards.evaluation} by {wildcards.captioner}"
    script:
        "../scripts/generate_captions.py"


use rule generate_captions as generate_shard with:
    output:
        "results/captions/{captioner}/{evaluation}/{shard}.parquet",
        provenance="results/provenance/generate_shard/{captioner}/{evaluation}/{shard}.json",
    log:
        "results/logs/generate_shard/{captioner}/{evaluation}/{shard}.log",
    wildcard_constraints:
        captioner=lab.of_kind("captioners", "pretrained", "imported", "finetuned", "snapshot"),
        evaluation=lab.of_kind("evaluations", "in-shards"),
    message:
        "caption shard {wildcards.shard} of {wildcards.evaluation} by {wildcards.captioner}"


rule join_captions:
    input:
        lab.captioned_shards,
    output:
        "results/captions/{captioner}/{evaluation}.parquet",
        provenance="results/provenance/join_captions/{captioner}/{evaluation}.json",
    log:
        "results/logs/join_captions/{captioner}/{evaluation}.log",
    wildcard_constraints:
        captioner=lab.of_kind("captioners", "pretrained", "imported", "finetuned", "snapshot"),
        evaluation=lab.of_kind("evaluations", "in-shards"),
    conda:
        "../../envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=30,
    params:
        **lab.software("join_captions"),
        corpora=lab.evaluated_corpora,
    message:
        "join the captions of {wildcards.evaluation} by {wildcards.captioner}"
    script:
        "../scripts/join_captions.py"


rule import_captions:
    input:
        files=lab.given_captions,
        images=lab.evaluated_tables("images"),
        captions=lab.evaluated_tables("captions"),
    output:
        "results/captions/{captioner}/{evaluation}.parquet",
        provenance="results/provenance/import_captions/{captioner}/{evaluation}.json",
    log:
        "results/logs/import_captions/{captioner}/{evaluation}.log",
    wildcard_constraints:
        captioner=lab.of_kind("captioners", "file", "human"),
    conda:
        "../../envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=4000,
        runtime=30,
    params:
        **lab.software("import_captions"),
        config=lab.settings("captioner", "captions"),
        corpora=lab.evaluated_corpora,
        splits=lab.of_corpora(lab.evaluation_split),
    message:
        "import the captions of {wildcards.captioner} for {wildcards.evaluation}"
    script:
        "../scripts/import_captions.py"
