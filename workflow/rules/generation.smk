"""Generation: the captions of an evaluation, by a captioner, a model behind a server, a program, or from a file.

Needs: a captioner and the features of every corpus of the evaluation, or a model behind a server, or a captioner that
only writes texts, or files of captions made elsewhere.
"""


def images_to_caption(wildcards):
    """Return the tables of each corpus that a captioner reads: features, regions with tags, or the images."""
    corpora = evaluated_corpora(wildcards)
    return [path for corpus in corpora for path in graph.images_for("captioners", wildcards.captioner, corpus)]


def described_images(wildcards):
    """Return the captions of corpora with undescribed images, which are candidates only."""
    facts, corpora = graph.facts("corpora.readers"), evaluated_corpora(wildcards)
    corpora = [
        corpus for corpus in corpora if getattr(facts.get(settings.corpora[corpus].reader), "undescribed", False)
    ]
    return [f"results/corpora/{corpus}/captions.parquet" for corpus in corpora]


def decoding(wildcards):
    """Return the decoding of an evaluation."""
    return graph.block("decodings", settings.evaluations[wildcards.evaluation].decoding)


def sampling_seed(wildcards):
    """Return the seed of captions that are drawn; 0 if none are drawn, so that no other seed matters."""
    return settings.seed if decoding(wildcards)["kind"] == "sample" else 0


rule generate_captions:
    """Caption the images of an evaluation by a captioner.

    output: captionlab.storage.schemas.GENERATED
    """
    input:
        config="results/captioners/{captioner}/config.json",
        weights="results/captioners/{captioner}/model.safetensors",
        tokenizer="results/captioners/{captioner}/tokenizer.json",
        ancestors=ancestors,
        images=evaluated_images,
        checks=lambda wildcards: checks_of(evaluated_corpora(wildcards)),
        described=described_images,
        features=images_to_caption,
    output:
        "results/captions/{captioner}/{evaluation}.parquet",
    log:
        "results/logs/generate_captions/{captioner}/{evaluation}.log",
    wildcard_constraints:
        captioner=graph.names_of("captioners", "pretrained", "imported", "finetuned", "finetuned-by-trl", "snapshot"),
        evaluation=graph.names_of("evaluations", "whole"),
    conda:
        "../../envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=graph.memory(8000, weights=2, ancestors=2, features=0.1),
        runtime=480,
        gpu=1,
    params:
        **graph.software("generate_captions", "torch", "tokenizers", loads=captioner_modules),
        corpora=evaluated_corpora,
        splits=evaluation_splits,
        decoding=decoding,
        seed=sampling_seed,
        shard=lambda wildcards: wildcards.get("shard", "0-of-1"),
    message:
        "caption the images of {wildcards.evaluation} by {wildcards.captioner}"
    script:
        "../scripts/generate_captions.py"


use rule generate_captions as generate_shard with:
    """Caption the images of a shard of an evaluation by a captioner, if the evaluation has shards.

    output: captionlab.storage.schemas.GENERATED
    """
    output:
        "results/captions/{captioner}/{evaluation}/{shard}.parquet",
    log:
        "results/logs/generate_shard/{captioner}/{evaluation}/{shard}.log",
    wildcard_constraints:
        captioner=graph.names_of("captioners", "pretrained", "imported", "finetuned", "finetuned-by-trl", "snapshot"),
        evaluation=graph.names_of("evaluations", "in-shards"),
    message:
        "caption shard {wildcards.shard} of {wildcards.evaluation} by {wildcards.captioner}"


def shards_of_captions(wildcards):
    """Return the shards of a captioner's captions for an evaluation."""
    shards = shard_names(settings.evaluations[wildcards.evaluation].shards)
    return [f"results/captions/{wildcards.captioner}/{wildcards.evaluation}/{shard}.parquet" for shard in shards]


rule join_captions:
    """Join the captions of all shards of an evaluation."""
    input:
        shards_of_captions,
    output:
        "results/captions/{captioner}/{evaluation}.parquet",
    log:
        "results/logs/join_captions/{captioner}/{evaluation}.log",
    wildcard_constraints:
        captioner=graph.names_of("captioners", "pretrained", "imported", "finetuned", "finetuned-by-trl", "snapshot"),
        evaluation=graph.names_of("evaluations", "in-shards"),
    conda:
        "../../envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=30,
    params:
        **graph.software("join_captions"),
        corpora=evaluated_corpora,
    message:
        "join the captions of {wildcards.evaluation} by {wildcards.captioner}"
    script:
        "../scripts/join_captions.py"


rule request_captions:
    """Ask a model behind a server for captions of the images of an evaluation.

    captions: captionlab.storage.schemas.GENERATED. Captions that the server did not give are empty
    failures: captionlab.storage.schemas.FAILED_REQUESTS
    """
    input:
        images=evaluated_images,
        checks=lambda wildcards: checks_of(evaluated_corpora(wildcards)),
        described=described_images,
    output:
        captions="results/captions/{captioner}/{evaluation}.parquet",
        failures="results/failed_requests/{captioner}/{evaluation}.parquet",
    log:
        "results/logs/request_captions/{captioner}/{evaluation}.log",
    wildcard_constraints:
        captioner=graph.names_of("captioners", "endpoint"),
    conda:
        "../../envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=4000,
        runtime=480,
    params:
        **graph.software("request_captions", "pillow"),
        config=lambda wildcards: graph.block("captioners", wildcards.captioner),
        corpora=evaluated_corpora,
        splits=evaluation_splits,
        decoding=decoding,
        seed=sampling_seed,
    message:
        "ask the server of {wildcards.captioner} for captions of {wildcards.evaluation}"
    script:
        "../scripts/request_captions.py"


def files_of_writer(wildcards):
    """Return the keys of the block of a captioner that name files."""
    return graph.file_keys("captioners", wildcards.captioner)


rule write_captions:
    """Let a captioner that only writes texts describe the images of an evaluation.

    output: captionlab.storage.schemas.GENERATED
    """
    input:
        images=evaluated_images,
        checks=lambda wildcards: checks_of(evaluated_corpora(wildcards)),
        described=described_images,
        files=lambda wildcards: graph.files_of("captioners", wildcards.captioner, *files_of_writer(wildcards)),
    output:
        "results/captions/{captioner}/{evaluation}.parquet",
    log:
        "results/logs/write_captions/{captioner}/{evaluation}.log",
    wildcard_constraints:
        captioner=graph.names_of("captioners", "writer"),
    conda:
        "../../envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=8000,
        runtime=480,
    params:
        **graph.software("write_captions", "pillow", loads=captioner_modules),
        config=lambda wildcards: graph.block("captioners", wildcards.captioner, *files_of_writer(wildcards)),
        files=files_of_writer,
        corpora=evaluated_corpora,
        splits=evaluation_splits,
    message:
        "write the captions of {wildcards.captioner} for {wildcards.evaluation}"
    script:
        "../scripts/write_captions.py"


def caption_files(wildcards):
    """Return the files of captions that were made elsewhere, one for each corpus; none for human captions."""
    corpora = evaluated_corpora(wildcards)
    return [
        path
        for corpus in corpora
        for path in graph.files_of("captioners", wildcards.captioner, "captions", corpus=corpus)
    ]


rule import_captions:
    """Import captions that were made elsewhere, or references as human captions."""
    input:
        files=caption_files,
        images=evaluated_images,
        checks=lambda wildcards: checks_of(evaluated_corpora(wildcards)),
        captions=evaluated_captions,
    output:
        "results/captions/{captioner}/{evaluation}.parquet",
    log:
        "results/logs/import_captions/{captioner}/{evaluation}.log",
    wildcard_constraints:
        captioner=graph.names_of("captioners", "file", "human"),
    conda:
        "../../envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=4000,
        runtime=30,
    params:
        **graph.software("import_captions"),
        **({"limit": settings.limit} if settings.limit else {}),
        config=lambda wildcards: graph.block("captioners", wildcards.captioner, "captions"),
        corpora=evaluated_corpora,
        splits=evaluation_splits,
    message:
        "import the captions of {wildcards.captioner} for {wildcards.evaluation}"
    script:
        "../scripts/import_captions.py"
