"""Evaluation: captions against references and against other images.

Needs: results/captions/{captioner}/{evaluation}.parquet, the corpora, and the retrievers with their features.
Makes: results/evaluation/{captioner}/{evaluation}/{tokens,nlg,retrieval}.parquet, a row for each caption,
and METEOR's paraphrases in results/paraphrases/
"""


rule tokenize_references:
    input:
        images="results/corpora/{corpus}/images.parquet",
        captions="results/corpora/{corpus}/captions.parquet",
    output:
        "results/evaluation/references/{corpus}.parquet",
    log:
        "results/logs/tokenize_references/{corpus}.log",
    benchmark:
        "results/benchmarks/tokenize_references/{corpus}.tsv"
    conda:
        "../../envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=4000,
        runtime=30,
    params:
        code=lab.code("tokenize_references"),
        versions=lab.versions("pycocoevalcap"),
        split=lab.evaluation_split_of,
    message:
        "tokenize the references of {wildcards.corpus}"
    script:
        "../scripts/tokenize_references.py"


rule tokenize_captions:
    input:
        "results/captions/{captioner}/{evaluation}.parquet",
    output:
        "results/evaluation/{captioner}/{evaluation}/tokens.parquet",
    log:
        "results/logs/tokenize_captions/{captioner}/{evaluation}.log",
    benchmark:
        "results/benchmarks/tokenize_captions/{captioner}/{evaluation}.tsv"
    conda:
        "../../envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=4000,
        runtime=30,
    params:
        code=lab.code("tokenize_captions"),
        versions=lab.versions("pycocoevalcap"),
    message:
        "tokenize the captions of {wildcards.captioner} for {wildcards.evaluation}"
    script:
        "../scripts/tokenize_captions.py"


rule index_paraphrases:
    output:
        phrases="results/paraphrases/phrases.parquet",
        paraphrases="results/paraphrases/paraphrases.parquet",
    log:
        "results/logs/index_paraphrases.log",
    benchmark:
        "results/benchmarks/index_paraphrases.tsv"
    conda:
        "../../envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=4000,
        runtime=15,
    params:
        code=lab.code("index_paraphrases"),
        versions=lab.versions("pycocoevalcap"),
    message:
        "read the paraphrases of METEOR"
    script:
        "../scripts/index_paraphrases.py"


rule score_nlg:
    input:
        tokens="results/evaluation/{captioner}/{evaluation}/tokens.parquet",
        references=lab.references,
        phrases="results/paraphrases/phrases.parquet",
        paraphrases="results/paraphrases/paraphrases.parquet",
    output:
        "results/evaluation/{captioner}/{evaluation}/nlg.parquet",
    log:
        "results/logs/score_nlg/{captioner}/{evaluation}.log",
    benchmark:
        "results/benchmarks/score_nlg/{captioner}/{evaluation}.tsv"
    conda:
        "../../envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=4000,
        runtime=60,
    params:
        code=lab.code("score_nlg"),
        versions=lab.versions("pycocoevalcap"),
        corpora=lab.evaluated_corpora,
        references_per_image=lab.references_per_image,
    message:
        "score the captions of {wildcards.captioner} for {wildcards.evaluation} by BLEU, METEOR, ROUGE-L and CIDEr"
    script:
        "../scripts/score_nlg.py"


rule fetch_spice_models:
    input:
        pom=lab.spice_file("pom.xml"),
        checksums=lab.spice_file("checksums.sha256"),
    output:
        directory("results/spice/models"),
        provenance="results/provenance/fetch_spice_models.json",
    log:
        "results/logs/fetch_spice_models.log",
    benchmark:
        "results/benchmarks/fetch_spice_models.tsv"
    conda:
        "../../envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=60,
    params:
        code=lab.code("fetch_spice_models"),
        required=lab.spice == "required",
    message:
        "fetch the parser models of SPICE"
    script:
        "../scripts/fetch_spice_models.py"


rule parse_references:
    input:
        models="results/spice/models",
        references="results/evaluation/references/{corpus}.parquet",
    output:
        "results/spice/parses/{corpus}.parquet",
    log:
        "results/logs/parse_references/{corpus}.log",
    benchmark:
        "results/benchmarks/parse_references/{corpus}.tsv"
    conda:
        "../../envs/captionlab.yaml"
    threads: 2
    resources:
        mem_mb=lambda wildcards, threads: 3000 + 500 * threads,  # a parser for each thread
        runtime=240,
    params:
        code=lab.code("parse_references"),
        versions=lab.versions("pycocoevalcap"),
    message:
        "parse the references of {wildcards.corpus} for SPICE"
    script:
        "../scripts/parse_references.py"


rule score_spice:
    input:
        models="results/spice/models",
        tokens="results/evaluation/{captioner}/{evaluation}/tokens.parquet",
        references=lab.references,
        parses=lab.parses,
    output:
        "results/evaluation/{captioner}/{evaluation}/spice.parquet",
    log:
        "results/logs/score_spice/{captioner}/{evaluation}.log",
    benchmark:
        "results/benchmarks/score_spice/{captioner}/{evaluation}.tsv"
    conda:
        "../../envs/captionlab.yaml"
    threads: 2
    resources:
        mem_mb=lambda wildcards, threads: 3000 + 500 * threads,  # a parser for each thread
        runtime=240,
    params:
        code=lab.code("score_spice"),
        versions=lab.versions("pycocoevalcap"),
        corpora=lab.evaluated_corpora,
        references_per_image=lab.references_per_image,
    message:
        "score the captions of {wildcards.captioner} for {wildcards.evaluation} by SPICE"
    script:
        "../scripts/score_spice.py"


rule retrieve_images:
    input:
        captions="results/captions/{captioner}/{evaluation}.parquet",
        images=lab.evaluated_tables("images"),
        configs=lab.retriever_files("config.json"),
        weights=lab.retriever_files("model.safetensors"),
        features=lab.retriever_features,
    output:
        "results/evaluation/{captioner}/{evaluation}/retrieval.parquet",
    log:
        "results/logs/retrieve_images/{captioner}/{evaluation}.log",
    benchmark:
        "results/benchmarks/retrieve_images/{captioner}/{evaluation}.tsv"
    conda:
        "../../envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=lab.memory(8000, features=2.5),
        runtime=120,
        gpu=1,
    params:
        code=lab.retrieval_code("retrieve_images"),
        versions=lab.retrieval_versions("numpy", "torch"),
        config=lab.retrieval_block,
        corpora=lab.evaluated_corpora,
        splits=lab.evaluated_splits,
        retrievers=lab.retrievers,
        seed=lab.retrieval_seed,
    message:
        "find the images of {wildcards.evaluation} by the captions of {wildcards.captioner}"
    script:
        "../scripts/retrieve_images.py"
