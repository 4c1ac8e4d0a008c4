"""Language: words, patterns and fluency of the captions of one evaluation, captioner by captioner.

Needs: results/captions/{captioner}/{evaluation}.parquet, their tokens, and references to train a language model on or
such a model as an ARPA file.
"""


rule train_language_model:
    """Train a trigram language model on references, if the config names no ARPA file.

    output: the trigram language model, as an ARPA file
    """
    input:
        images=lambda wildcards: f"results/corpora/{settings.language.model.corpus}/images.parquet",
        captions=lambda wildcards: f"results/corpora/{settings.language.model.corpus}/captions.parquet",
    output:
        "results/language/model.arpa",
    log:
        "results/logs/train_language_model.log",
    conda:
        "../../envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=8000,
        runtime=60,
    params:
        **graph.software(
            "train_language_model",
            "numpy",
            loads=lambda wildcards: graph.modules("evaluation.tokenizers", settings.language.model.corpus),
        ),
        tokenizer=lambda wildcards: graph.tokenizers(settings.language.model.corpus).get(
            settings.language.model.corpus, "ptb"
        ),
        splits=lambda wildcards: sorted(settings.language.model.splits),
    message:
        "train the trigram language model"
    script:
        "../scripts/train_language_model.py"


rule tag_references:
    """Tag the references of the evaluation split of a corpus.

    output: captionlab.storage.schemas.TAGGED
    """
    input:
        images="results/corpora/{corpus}/images.parquet",
        captions="results/corpora/{corpus}/captions.parquet",
        tagger=tagger.files,
    output:
        "results/language/references/{corpus}.parquet",
    log:
        "results/logs/tag_references/{corpus}.log",
    conda:
        "../../envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=4000,
        runtime=60,
    params:
        **graph.software("tag_references", *tagger.libraries),
        split=lambda wildcards: settings.corpora[wildcards.corpus].evaluation_split,
        tagger=tagger.name,
    message:
        "tag the references of {wildcards.corpus}"
    script:
        "../scripts/tag_references.py"


def measured_by(wildcards):
    """Return the settings of measures of captions; none if the config has no `language`: captions are only tagged."""
    if not settings.language:
        return {}
    arpa = settings.language.model.arpa
    return {
        "model": graph.given(arpa) if arpa else "results/language/model.arpa",
        "tokens": f"results/evaluation/{wildcards.captioner}/{wildcards.evaluation}/tokens.parquet",
        "published": own(f"{ROOT}/config/published/probing_patterns.csv"),
    }


MEASURES = ("measures", "statistics", "patterns", "unigrams") if settings.language else ()


rule measure_language:
    """Tag the captions of a captioner for an evaluation and, if the config has `language`, measure their language.

    tags: captionlab.storage.schemas.TAGGED
    measures: captionlab.language.schemas.MEASURES
    statistics: captionlab.language.schemas.STATISTICS
    patterns: captionlab.language.schemas.PATTERNS
    unigrams: captionlab.language.schemas.NGRAMS
    """
    input:
        unpack(measured_by),
        captions="results/captions/{captioner}/{evaluation}.parquet",
        tagger=tagger.files,
    output:
        **{table: f"results/language/{{captioner}}/{{evaluation}}/{table}.parquet" for table in MEASURES},
        tags="results/language/{captioner}/{evaluation}/tags.parquet",
    log:
        "results/logs/measure_language/{captioner}/{evaluation}.log",
    conda:
        "../../envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=4000,
        runtime=120,
    params:
        **graph.software("measure_language", "numpy", *tagger.libraries),
        tagger=tagger.name,
    message:
        "measure the language of {wildcards.captioner} for {wildcards.evaluation}"
    script:
        "../scripts/measure_language.py"


def captions_to_change(wildcards):
    """Return the captions that others are constructed from."""
    return f"results/captions/{settings.captioners[wildcards.captioner].captions_of}/{wildcards.evaluation}.parquet"


def tags_of_captions(wildcards):
    """Return the tags of the captions that others are constructed from."""
    return (
        f"results/language/{settings.captioners[wildcards.captioner].captions_of}/{wildcards.evaluation}/tags.parquet"
    )


def mined_templates(wildcards):
    """Return the names of the templates that are found in captions."""
    return sorted(settings.captioners[wildcards.captioner].mined_from or {})


def tags_with_templates(wildcards):
    """Return the tagged captions in which each mined template is found."""
    captioners = settings.captioners[wildcards.captioner].mined_from
    names = mined_templates(wildcards)
    return [f"results/language/{captioners[name]}/{wildcards.evaluation}/tags.parquet" for name in names]


rule construct_captions:
    """Construct captions from the captions of another captioner.

    captions: captionlab.storage.schemas.GENERATED
    constructions: captionlab.language.schemas.CONSTRUCTED
    """
    input:
        captions=captions_to_change,
        tags=tags_of_captions,
        images=evaluated_images,
        references=evaluated_captions,
        mined=tags_with_templates,
        templates=own(f"{ROOT}/config/published/probing_templates.csv"),
        tagger=tagger.files,
    output:
        captions="results/captions/{captioner}/{evaluation}.parquet",
        constructions="results/language/{captioner}/{evaluation}/constructions.parquet",
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
        **graph.software("construct_captions", *tagger.libraries),
        config=lambda wildcards: graph.block(
            "captioners", wildcards.captioner, only=["replacements", "templates", "nouns"]
        ),
        corpora=evaluated_corpora,
        splits=evaluation_splits,
        mined=mined_templates,
        tagger=tagger.name,
        seed=lambda wildcards: settings.captioners[wildcards.captioner].seed,
    message:
        "construct captions for {wildcards.captioner} in {wildcards.evaluation}"
    script:
        "../scripts/construct_captions.py"


def caption_types(wildcards):
    """Return the captioners whose typical adjectives and nouns are compared."""
    return sorted(settings.language.caption_types or studied_captioners())


rule associate_lemmas:
    """Find the lemmas that are typical of the captions of each captioner.

    output: captionlab.language.schemas.ASSOCIATIONS
    """
    input:
        tags=lambda wildcards: [
            f"results/language/{name}/{settings.language.evaluation}/tags.parquet" for name in caption_types(wildcards)
        ],
    output:
        "results/language/associations.parquet",
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
        types=caption_types,
    message:
        "find the adjectives and nouns of each type of captions"
    script:
        "../scripts/associate_lemmas.py"
