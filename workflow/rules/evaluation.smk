"""Evaluation: captions against references and against other images.

Needs: results/captions/{captioner}/{evaluation}.parquet, the corpora, and the retrievers with their features; of judged
captions how often each was judged.
Makes: results/evaluation/{captioner}/{evaluation}/{tokens,retrieval}.parquet and one for each metric whose module is
all that there is of it, or that is a command, a row for each caption; results/evaluation/references/{corpus}.parquet;
results/evaluation/nlg/{evaluation}.parquet for all captioners together, because METEOR takes 10 s to start
"""


rule tokenize_references:
    input:
        **paths.corpus.named("images", "captions"),
    output:
        paths.references(),
        provenance=paths.provenance("tokenize_references/{corpus}"),
    log:
        paths.log("tokenize_references/{corpus}"),
    conda:
        "../../envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=4000,
        runtime=30,
    params:
        **lab.software("tokenize_references", "pycocoevalcap"),
        split=lab.value("corpus", "evaluation_split"),
    message:
        "tokenize the references of {wildcards.corpus}"
    script:
        "../scripts/tokenize_references.py"


rule tokenize_captions:
    input:
        paths.captions(),
    output:
        paths.evaluation("tokens"),
        provenance=paths.provenance("tokenize_captions/{captioner}/{evaluation}"),
    log:
        paths.log("tokenize_captions/{captioner}/{evaluation}"),
    conda:
        "../../envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=4000,
        runtime=30,
    params:
        **lab.software("tokenize_captions", "pycocoevalcap"),
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
        paths.nlg(),
        provenance=paths.provenance("score_nlg/{evaluation}"),
    log:
        paths.log("score_nlg/{evaluation}"),
    conda:
        "../../envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=lab.memory(3000, references=400),  # n-grams are objects of Python
        runtime=120,
    params:
        **lab.software("score_nlg", "pycocoevalcap"),
        captioners=lab.referring_captioners,
        corpora=lab.referenced_corpora,
        references_per_image=lab.value("evaluation", "references_per_image"),
    message:
        "score the captions of {wildcards.evaluation} by BLEU, METEOR, ROUGE-L and CIDEr"
    script:
        "../scripts/score_nlg.py"


rule fetch_spice_models:
    input:
        pom=lab.shipped("envs/spice/pom.xml"),
        checksums=lab.shipped("envs/spice/checksums.sha256"),
    output:
        directory(paths.SPICE_MODELS),
        provenance=paths.provenance("fetch_spice_models"),
    log:
        paths.log("fetch_spice_models"),
    conda:
        "../../envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=60,
    params:
        **lab.software("fetch_spice_models"),
        required=lab.spice == "required",
    message:
        "fetch the parser models of SPICE, 369 MB unless they are on this machine (--config spice=off runs without)"
    script:
        "../scripts/fetch_spice_models.py"


rule parse_references:
    input:
        models=paths.SPICE_MODELS,
        references=paths.references(),
    output:
        paths.parses(),
        provenance=paths.provenance("parse_references/{corpus}"),
    log:
        paths.log("parse_references/{corpus}"),
    conda:
        "../../envs/captionlab.yaml"
    threads: 8
    resources:
        mem_mb=lambda wildcards, threads: 3000 + 500 * threads,  # a parser for each thread
        runtime=240,
    params:
        **lab.software("parse_references", "pycocoevalcap"),
    message:
        "parse the references of {wildcards.corpus} for SPICE, perhaps for minutes (--config spice=off runs without)"
    script:
        "../scripts/parse_references.py"


rule score_spice:
    input:
        models=paths.SPICE_MODELS,
        tokens=paths.evaluation("tokens"),
        references=lab.of_referenced(paths.references),
        parses=lab.of_referenced(paths.parses),
    output:
        paths.evaluation("spice"),
        provenance=paths.provenance("score_spice/{captioner}/{evaluation}"),
    log:
        paths.log("score_spice/{captioner}/{evaluation}"),
    conda:
        "../../envs/captionlab.yaml"
    threads: 2
    resources:
        mem_mb=lambda wildcards, threads: 3000 + 500 * threads,  # a parser for each thread
        runtime=240,
    params:
        **lab.software("score_spice", "pycocoevalcap"),
        corpora=lab.referenced_corpora,
        references_per_image=lab.value("evaluation", "references_per_image"),
    message:
        "score the captions of {wildcards.captioner} for {wildcards.evaluation} by SPICE"
    script:
        "../scripts/score_spice.py"


rule retrieve_images:
    input:
        captions=paths.captions(),
        images=lab.evaluated_tables("images"),
        configs=lab.embedding.file_of(lab.retrievers, "config.json"),
        weights=lab.embedding.file_of(lab.retrievers, "model.safetensors"),
        features=lab.retriever_features,
    output:
        paths.evaluation("retrieval"),
        provenance=paths.provenance("retrieve_images/{captioner}/{evaluation}"),
    log:
        paths.log("retrieve_images/{captioner}/{evaluation}"),
    conda:
        "../../envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=lab.memory(8000, features=2.5),
        runtime=120,
        gpu=1,
    params:
        **lab.software(
            "retrieve_images",
            "numpy",
            "torch",
            loads=lab.embedding.loaded_of(lab.retrievers),
        ),
        config=lab.retrieval_block,
        corpora=lab.evaluated_corpora,
        splits=lab.of_corpora(lab.evaluation_split),
        retrievers=lab.retrievers,
        seed=lab.retrieval_seed,
    message:
        "find the images of {wildcards.evaluation} by the captions of {wildcards.captioner}"
    script:
        "../scripts/retrieve_images.py"


rule score_by_command:
    input:
        captions=paths.captions(),
        images_of_corpora=lab.evaluated_tables("images"),
        captions_of_corpora=lab.commands.references,
        files=lab.commands.files,
        environment=lab.commands.environment,
    output:
        paths.evaluation("command-{metric}"),
        provenance=paths.provenance("score_by_command/{captioner}/{evaluation}/{metric}"),
    log:
        paths.log("score_by_command/{captioner}/{evaluation}/{metric}"),
    conda:
        "../../envs/captionlab.yaml"
    threads: 2
    resources:
        mem_mb=lab.value("metric", "mem_mb"),
        runtime=lambda wildcards: 60 + lab.value("metric", "time_limit")(wildcards),  # an environment may be made first
        time_limit=lab.value("metric", "time_limit"),
        gpu=lab.value("metric", "gpu"),
    params:
        **lab.software("score_by_command"),
        corpora=lab.evaluated_corpora,
        splits=lab.of_corpora(lab.evaluation_split),
        references_per_image=lab.value("evaluation", "references_per_image"),
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
