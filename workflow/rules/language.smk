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
        paths.LANGUAGE_MODEL,
        provenance=paths.provenance("train_language_model"),
    log:
        paths.log("train_language_model"),
    conda:
        "../../envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=8000,
        runtime=60,
    params:
        **lab.software("train_language_model", "numpy", "pycocoevalcap"),
        splits=lab.language.splits(),
    message:
        "train the trigram language model"
    script:
        "../scripts/train_language_model.py"


rule tag_references:
    input:
        **paths.corpus.named("images", "captions"),
        tagger=lab.language.tagger_files(),
    output:
        paths.tagged_references(),
        provenance=paths.provenance("tag_references/{corpus}"),
    log:
        paths.log("tag_references/{corpus}"),
    conda:
        "../../envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=4000,
        runtime=60,
    params:
        **lab.software("tag_references", *lab.language.tagger_libraries()),
        split=lab.value("corpus", "evaluation_split"),
        tagger=lab.language.tagger,
    message:
        "tag the references of {wildcards.corpus}"
    script:
        "../scripts/tag_references.py"


rule measure_language:
    input:
        **lab.language.measured_by(),
        captions=paths.captions(),
        tagger=lab.language.tagger_files(),
    output:
        **lab.language.measures(),
        tags=paths.language("tags"),
        provenance=paths.provenance("measure_language/{captioner}/{evaluation}"),
    log:
        paths.log("measure_language/{captioner}/{evaluation}"),
    conda:
        "../../envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=4000,
        runtime=120,
    params:
        **lab.software("measure_language", "numpy", *lab.language.tagger_libraries()),
        tagger=lab.language.tagger,
    message:
        "measure the language of {wildcards.captioner} for {wildcards.evaluation}"
    script:
        "../scripts/measure_language.py"


rule construct_captions:
    input:
        captions=lab.construction.captions,
        tags=lab.construction.tags,
        images=lab.evaluated_tables("images"),
        references=lab.evaluated_tables("captions"),
        mined=lab.construction.mined_tags,
        templates=lab.shipped("config/published/probing_templates.csv"),
        tagger=lab.language.tagger_files(),
    output:
        captions=paths.captions(),
        constructions=paths.language("constructions"),
        provenance=paths.provenance("construct_captions/{captioner}/{evaluation}"),
    log:
        paths.log("construct_captions/{captioner}/{evaluation}"),
    wildcard_constraints:
        captioner=lab.of_kind("captioners", "constructed"),
    conda:
        "../../envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=4000,
        runtime=60,
    params:
        **lab.software("construct_captions", *lab.language.tagger_libraries()),
        config=lab.construction.block,
        corpora=lab.evaluated_corpora,
        splits=lab.of_corpora(lab.evaluation_split),
        mined=lab.construction.mined_models,
        tagger=lab.language.tagger,
        seed=lab.value("captioner", "seed"),
    message:
        "construct captions for {wildcards.captioner} in {wildcards.evaluation}"
    script:
        "../scripts/construct_captions.py"


rule associate_lemmas:
    input:
        tags=lab.language.measured("tags", lab.language.caption_types()),
    output:
        paths.ASSOCIATIONS,
        provenance=paths.provenance("associate_lemmas"),
    log:
        paths.log("associate_lemmas"),
    conda:
        "../../envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=4000,
        runtime=30,
    params:
        **lab.software("associate_lemmas"),
        types=lab.language.caption_types(),
    message:
        "find the adjectives and nouns of each type of captions"
    script:
        "../scripts/associate_lemmas.py"
