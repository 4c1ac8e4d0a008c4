"""Language: what the captions of one evaluation are made of, captioner by captioner.

Needs: results/captions/{captioner}/{evaluation}.parquet, their tokens, and references to train a language model on or
such a model as an ARPA file.
Makes: results/language/{captioner}/{evaluation}/{tags,measures,statistics,unigrams,patterns}.parquet,
results/language/model.arpa and results/language/associations.parquet. Of captioners of the family `constructed` also
results/captions/{captioner}/{evaluation}.parquet, with results/language/{captioner}/{evaluation}/constructions.parquet
"""


rule train_language_model:
    input:
        images=lab.language.corpus("images"),
        captions=lab.language.corpus("captions"),
    output:
        "results/language/model.arpa",
        provenance="results/provenance/train_language_model.json",
    log:
        "results/logs/train_language_model.log",
    benchmark:
        "results/benchmarks/train_language_model.tsv"
    conda:
        "../../envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=8000,
        runtime=60,
    params:
        code=lab.code("train_language_model"),
        versions=lab.versions("numpy", "pycocoevalcap"),
        splits=lab.language.splits(),
    message:
        "train the trigram language model"
    script:
        "../scripts/train_language_model.py"


rule tag_captions:
    input:
        captions="results/captions/{captioner}/{evaluation}.parquet",
        tagger=lab.language.tagger_files(),
    output:
        "results/language/{captioner}/{evaluation}/tags.parquet",
    log:
        "results/logs/tag_captions/{captioner}/{evaluation}.log",
    benchmark:
        "results/benchmarks/tag_captions/{captioner}/{evaluation}.tsv"
    conda:
        "../../envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=4000,
        runtime=60,
    params:
        code=lab.code("tag_captions"),
        versions=lab.language.tagger_versions(),
        tagger=lab.language.tagger,
    message:
        "tag the captions of {wildcards.captioner} for {wildcards.evaluation}"
    script:
        "../scripts/tag_captions.py"


rule measure_fluency:
    input:
        model=lab.language.model(),
        tokens="results/evaluation/{captioner}/{evaluation}/tokens.parquet",
        tags="results/language/{captioner}/{evaluation}/tags.parquet",
    output:
        captions="results/language/{captioner}/{evaluation}/measures.parquet",
        statistics="results/language/{captioner}/{evaluation}/statistics.parquet",
    log:
        "results/logs/measure_fluency/{captioner}/{evaluation}.log",
    benchmark:
        "results/benchmarks/measure_fluency/{captioner}/{evaluation}.tsv"
    conda:
        "../../envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=4000,
        runtime=60,
    params:
        code=lab.code("measure_fluency"),
        versions=lab.versions("numpy"),
    message:
        "measure the language of {wildcards.captioner} for {wildcards.evaluation}"
    script:
        "../scripts/measure_fluency.py"


rule mine_patterns:
    input:
        tags="results/language/{captioner}/{evaluation}/tags.parquet",
        published=lab.published("probing_patterns.csv"),
    output:
        "results/language/{captioner}/{evaluation}/patterns.parquet",
    log:
        "results/logs/mine_patterns/{captioner}/{evaluation}.log",
    benchmark:
        "results/benchmarks/mine_patterns/{captioner}/{evaluation}.tsv"
    conda:
        "../../envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=4000,
        runtime=60,
    params:
        code=lab.code("mine_patterns"),
    message:
        "find the patterns in the captions of {wildcards.captioner} for {wildcards.evaluation}"
    script:
        "../scripts/mine_patterns.py"


rule count_unigrams:
    input:
        tokens="results/evaluation/{captioner}/{evaluation}/tokens.parquet",
        tags="results/language/{captioner}/{evaluation}/tags.parquet",
    output:
        "results/language/{captioner}/{evaluation}/unigrams.parquet",
    log:
        "results/logs/count_unigrams/{captioner}/{evaluation}.log",
    benchmark:
        "results/benchmarks/count_unigrams/{captioner}/{evaluation}.tsv"
    conda:
        "../../envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=4000,
        runtime=30,
    params:
        code=lab.code("count_unigrams"),
    message:
        "count the words of {wildcards.captioner} for {wildcards.evaluation}"
    script:
        "../scripts/count_unigrams.py"


rule construct_captions:
    input:
        captions=lab.probing.original_captions,
        tags=lab.probing.original_tags,
        images=lab.evaluated_tables("images"),
        references=lab.evaluated_tables("captions"),
        mined=lab.probing.mined_tags,
        templates=lab.published("probing_templates.csv"),
        tagger=lab.language.tagger_files(),
    output:
        captions="results/captions/{captioner}/{evaluation}.parquet",
        constructions="results/language/{captioner}/{evaluation}/constructions.parquet",
    log:
        "results/logs/construct_captions/{captioner}/{evaluation}.log",
    benchmark:
        "results/benchmarks/construct_captions/{captioner}/{evaluation}.tsv"
    wildcard_constraints:
        captioner=lab.captioners_of("constructed"),
    conda:
        "../../envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=4000,
        runtime=60,
    params:
        code=lab.code("construct_captions"),
        versions=lab.language.tagger_versions(),
        config=lab.probing.construction_block,
        corpora=lab.evaluated_corpora,
        splits=lab.evaluated_splits,
        mined=lab.probing.mined_models,
        tagger=lab.language.tagger,
        seed=lab.captioner_seed,
    message:
        "construct captions for {wildcards.captioner} in {wildcards.evaluation}"
    script:
        "../scripts/construct_captions.py"


rule associate_lemmas:
    input:
        tags=lab.language.measured("tags", lab.language.caption_types()),
    output:
        "results/language/associations.parquet",
    log:
        "results/logs/associate_lemmas.log",
    benchmark:
        "results/benchmarks/associate_lemmas.tsv"
    conda:
        "../../envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=4000,
        runtime=30,
    params:
        code=lab.code("associate_lemmas"),
        types=lab.language.caption_types(),
    message:
        "find the adjectives and nouns of each type of captions"
    script:
        "../scripts/associate_lemmas.py"
