"""Evaluation: captions against references and against other images.

Needs: results/captions/{captioner}/{evaluation}.parquet, the corpora, and the retrievers with their features; of judged
captions how often each was judged.
Makes: results/evaluation/{captioner}/{evaluation}/{tokens,retrieval}.parquet and one for each metric whose module is
all that there is of it, or that is a command, a row for each caption; results/evaluation/references/{corpus}.parquet;
results/evaluation/nlg/{evaluation}.parquet for all captioners together, because METEOR takes 10 s to start
"""


rule tokenize_references:
    input:
        images="results/corpora/{corpus}/images.parquet",
        captions="results/corpora/{corpus}/captions.parquet",
    output:
        "results/evaluation/references/{corpus}.parquet",
        provenance="results/provenance/tokenize_references/{corpus}.json",
    log:
        "results/logs/tokenize_references/{corpus}.log",
    conda:
        "../../envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=4000,
        runtime=30,
    params:
        **graph.software("tokenize_references", "pycocoevalcap"),
        split=lambda wildcards: settings.corpora[wildcards.corpus].evaluation_split,
    message:
        "tokenize the references of {wildcards.corpus}"
    script:
        "../scripts/tokenize_references.py"


rule tokenize_captions:
    input:
        "results/captions/{captioner}/{evaluation}.parquet",
    output:
        "results/evaluation/{captioner}/{evaluation}/tokens.parquet",
        provenance="results/provenance/tokenize_captions/{captioner}/{evaluation}.json",
    log:
        "results/logs/tokenize_captions/{captioner}/{evaluation}.log",
    conda:
        "../../envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=4000,
        runtime=30,
    params:
        **graph.software("tokenize_captions", "pycocoevalcap"),
    message:
        "tokenize the captions of {wildcards.captioner} for {wildcards.evaluation}"
    script:
        "../scripts/tokenize_captions.py"


rule score_nlg:
    input:
        tokens=lab.referring_tokens,
        references=lab.of_referenced(paths.references),
        judged=lab.judgements.candidates,
    output:
        "results/evaluation/nlg/{evaluation}.parquet",
        provenance="results/provenance/score_nlg/{evaluation}.json",
    log:
        "results/logs/score_nlg/{evaluation}.log",
    conda:
        "../../envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=graph.memory(3000, references=400),  # n-grams are objects of Python
        runtime=120,
    params:
        **graph.software("score_nlg", "pycocoevalcap"),
        captioners=lab.referring_captioners,
        corpora=lab.referenced_corpora,
        references_per_image=lambda wildcards: settings.evaluations[wildcards.evaluation].references_per_image,
    message:
        "score the captions of {wildcards.evaluation} by BLEU, METEOR, ROUGE-L and CIDEr"
    script:
        "../scripts/score_nlg.py"


rule fetch_spice_models:
    input:
        pom=graph.shipped("envs/spice/pom.xml"),
        checksums=graph.shipped("envs/spice/checksums.sha256"),
    output:
        directory("results/spice/models"),
        provenance="results/provenance/fetch_spice_models.json",
    log:
        "results/logs/fetch_spice_models.log",
    conda:
        "../../envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=60,
    params:
        **graph.software("fetch_spice_models"),
        required=lab.spice == "required",
    message:
        "fetch the parser models of SPICE, 369 MB unless they are on this machine (--config spice=off runs without)"
    script:
        "../scripts/fetch_spice_models.py"


rule parse_references:
    input:
        models="results/spice/models",
        references="results/evaluation/references/{corpus}.parquet",
    output:
        "results/spice/parses/{corpus}.parquet",
        provenance="results/provenance/parse_references/{corpus}.json",
    log:
        "results/logs/parse_references/{corpus}.log",
    conda:
        "../../envs/captionlab.yaml"
    threads: 8
    resources:
        mem_mb=lambda wildcards, threads: 3000 + 500 * threads,  # a parser for each thread
        runtime=240,
    params:
        **graph.software("parse_references", "pycocoevalcap"),
    message:
        "parse the references of {wildcards.corpus} for SPICE, perhaps for minutes (--config spice=off runs without)"
    script:
        "../scripts/parse_references.py"


rule score_spice:
    input:
        models="results/spice/models",
        tokens="results/evaluation/{captioner}/{evaluation}/tokens.parquet",
        references=lab.of_referenced(paths.references),
        parses=lab.of_referenced(paths.parses),
    output:
        "results/evaluation/{captioner}/{evaluation}/spice.parquet",
        provenance="results/provenance/score_spice/{captioner}/{evaluation}.json",
    log:
        "results/logs/score_spice/{captioner}/{evaluation}.log",
    conda:
        "../../envs/captionlab.yaml"
    threads: 2
    resources:
        mem_mb=lambda wildcards, threads: 3000 + 500 * threads,  # a parser for each thread
        runtime=240,
    params:
        **graph.software("score_spice", "pycocoevalcap"),
        corpora=lab.referenced_corpora,
        references_per_image=lambda wildcards: settings.evaluations[wildcards.evaluation].references_per_image,
    message:
        "score the captions of {wildcards.captioner} for {wildcards.evaluation} by SPICE"
    script:
        "../scripts/score_spice.py"


rule retrieve_images:
    input:
        captions="results/captions/{captioner}/{evaluation}.parquet",
        images=evaluated_images,
        configs=lab.embedding.file_of(lab.retrievers, "config.json"),
        weights=lab.embedding.file_of(lab.retrievers, "model.safetensors"),
        features=lab.retriever_features,
    output:
        "results/evaluation/{captioner}/{evaluation}/retrieval.parquet",
        provenance="results/provenance/retrieve_images/{captioner}/{evaluation}.json",
    log:
        "results/logs/retrieve_images/{captioner}/{evaluation}.log",
    conda:
        "../../envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=graph.memory(8000, features=2.5),
        runtime=120,
        gpu=1,
    params:
        **graph.software(
            "retrieve_images",
            "numpy",
            "torch",
            loads=lab.embedding.loaded_of(lab.retrievers),
        ),
        config=lab.retrieval_block,
        corpora=evaluated_corpora,
        splits=evaluation_splits,
        retrievers=lab.retrievers,
        seed=lab.retrieval_seed,
    message:
        "find the images of {wildcards.evaluation} by the captions of {wildcards.captioner}"
    script:
        "../scripts/retrieve_images.py"


rule score_by_command:
    input:
        captions="results/captions/{captioner}/{evaluation}.parquet",
        images_of_corpora=evaluated_images,
        captions_of_corpora=lab.commands.references,
        files=lab.commands.files,
        environment=lab.commands.environment,
    output:
        "results/evaluation/{captioner}/{evaluation}/command-{metric}.parquet",
        provenance="results/provenance/score_by_command/{captioner}/{evaluation}/{metric}.json",
    log:
        "results/logs/score_by_command/{captioner}/{evaluation}/{metric}.log",
    conda:
        "../../envs/captionlab.yaml"
    threads: 2
    resources:
        mem_mb=lambda wildcards: settings.metrics[wildcards.metric].mem_mb,
        runtime=lambda wildcards: 60 + lab.value("metric", "time_limit")(wildcards),  # an environment may be made first
        time_limit=lambda wildcards: settings.metrics[wildcards.metric].time_limit,
        gpu=lambda wildcards: settings.metrics[wildcards.metric].gpu,
    params:
        **graph.software("score_by_command"),
        corpora=evaluated_corpora,
        splits=evaluation_splits,
        references_per_image=lambda wildcards: settings.evaluations[wildcards.evaluation].references_per_image,
        people=lambda wildcards: lab.family(wildcards.captioner) == "human",
        settings=lab.commands.settings,
        files=lab.commands.words,
    message:
        "score the captions of {wildcards.captioner} for {wildcards.evaluation} by {wildcards.metric}"
    script:
        "../scripts/score_by_command.py"


for job in lab.metrics.jobs():

    rule:
        name:
            f"score_{job.table}"
        input:
            **job.inputs,
        output:
            paths.evaluation(job.table),
            provenance=paths.provenance(f"score_{job.table}/{{captioner}}/{{evaluation}}"),
        log:
            paths.log(f"score_{job.table}/{{captioner}}/{{evaluation}}"),
        conda:
            "../../envs/captionlab.yaml"
        threads: 1
        resources:
            mem_mb=job.mem_mb,
            runtime=job.declared.runtime,
            gpu=job.declared.gpu,
        params:
            **job.params,
        message:
            f"score the captions of {{wildcards.captioner}} for {{wildcards.evaluation}} by {job.table}"
        script:
            "../scripts/score_captions.py"
