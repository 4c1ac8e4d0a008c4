"""Language: what the captions of one evaluation are made of, captioner by captioner.

Needs: results/captions/{captioner}/{evaluation}.parquet, their tokens, and references to train a language model on or
such a model as an ARPA file.
Makes: results/language/{captioner}/{evaluation}/{tags,measures,statistics,unigrams,patterns}.parquet, of which tags alone
if the config has no `language`; results/language/references/{corpus}.parquet, results/language/model.arpa and
results/language/associations.parquet. Of captioners of the family `constructed` also
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
    conda:
        "../../envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=8000,
        runtime=60,
    params:
        **graph.software("train_language_model", "numpy", "pycocoevalcap"),
        splits=lab.language.splits(),
    message:
        "train the trigram language model"
    script:
        "../scripts/train_language_model.py"


rule tag_references:
    input:
        images="results/corpora/{corpus}/images.parquet",
        captions="results/corpora/{corpus}/captions.parquet",
        tagger=lab.language.tagger_files(),
    output:
        "results/language/references/{corpus}.parquet",
        provenance="results/provenance/tag_references/{corpus}.json",
    log:
        "results/logs/tag_references/{corpus}.log",
    conda:
        "../../envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=4000,
        runtime=60,
    params:
        **graph.software("tag_references", *lab.language.tagger_libraries()),
        split=lambda wildcards: settings.corpora[wildcards.corpus].evaluation_split,
        tagger=lab.language.tagger,
    message:
        "tag the references of {wildcards.corpus}"
    script:
        "../scripts/tag_references.py"


rule measure_language:
    input:
        **lab.language.measured_by(),
        captions="results/captions/{captioner}/{evaluation}.parquet",
        tagger=lab.language.tagger_files(),
    output:
        **lab.language.measures(),
        tags="results/language/{captioner}/{evaluation}/tags.parquet",
        provenance="results/provenance/measure_language/{captioner}/{evaluation}.json",
    log:
        "results/logs/measure_language/{captioner}/{evaluation}.log",
    conda:
        "../../envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=4000,
        runtime=120,
    params:
        **graph.software("measure_language", "numpy", *lab.language.tagger_libraries()),
        tagger=lab.language.tagger,
    message:
        "measure the language of {wildcards.captioner} for {wildcards.evaluation}"
    script:
        "../scripts/measure_language.py"


rule construct_captions:
    input:
        captions=lab.construction.captions,
        tags=lab.construction.tags,
        images=evaluated_images,
        references=evaluated_captions,
        mined=lab.construction.mined_tags,
        templates=graph.shipped("config/published/probing_templates.csv"),
        tagger=lab.language.tagger_files(),
    output:
        captions="results/captions/{captioner}/{evaluation}.parquet",
        constructions="results/language/{captioner}/{evaluation}/constructions.parquet",
        provenance="results/provenance/construct_captions/{captioner}/{evaluation}.json",
    log:
        "results/logs/construct_captions/{captioner}/{evaluation}.log",
    wildcard_constraints:
        captioner=graph.names_of("captioners", "constructed"),
    conda:
        "../../envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=4000,
        runtime=60,
    params:
        **graph.software("construct_captions", *lab.language.tagger_libraries()),
        config=lab.construction.block,
        corpora=evaluated_corpora,
        splits=evaluation_splits,
        mined=lab.construction.mined_models,
        tagger=lab.language.tagger,
        seed=lambda wildcards: settings.captioners[wildcards.captioner].seed,
    message:
        "construct captions for {wildcards.captioner} in {wildcards.evaluation}"
    script:
        "../scripts/construct_captions.py"


rule associate_lemmas:
    input:
        tags=lab.language.measured("tags", lab.language.caption_types()),
    output:
        "results/language/associations.parquet",
        provenance="results/provenance/associate_lemmas.json",
    log:
        "results/logs/associate_lemmas.log",
    conda:
        "../../envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=4000,
        runtime=30,
    params:
        **graph.software("associate_lemmas"),
        types=lab.language.caption_types(),
    message:
        "find the adjectives and nouns of each type of captions"
    script:
        "../scripts/associate_lemmas.py"
