"""Judgements: captions that people judged, scored by any metric like captions of a captioner.

Needs: published files of judgements (docs/data.md; nothing where they are simulated) and the corpus of their images;
to hold metrics against them, tables of scores of the candidates.
"""

import re


def judgement_files(wildcards):
    """Return the published files and folders of a set of judgements; none if judgements are simulated."""
    reader = graph.facts("judgements.readers", settings.judgements[wildcards.judgements].reader)
    return graph.files_of("judgements", wildcards.judgements, *reader.files, *reader.folders)


def are_simulated(names):
    """Return whether nobody judged the captions of one of several sets of judgements."""
    readers = [settings.judgements[name].reader for name in names]
    return any(graph.facts("judgements.readers", reader).simulated for reader in readers)


def judgement_config(wildcards):
    """Return the parameters of reading a set of judgements, without the metrics that score its captions."""
    metrics = [key for facts in graph.metrics().values() for key in facts.asks]
    return graph.block("judgements", wildcards.judgements, "corpus", *metrics)


rule read_judgements:
    """Read captions that people judged, and the judgements.

    candidates: captionlab.judgements.schemas.CANDIDATES. Their scores are in
        `results/evaluation/{judgements}/{judgements}/`
    ratings: captionlab.judgements.schemas.RATINGS
    preferences: captionlab.judgements.schemas.PREFERENCES
    images: captionlab.storage.schemas.IMAGES. The table has only images with judged captions
    captions: captionlab.storage.schemas.CAPTIONS. References that are candidates themselves are left out
    objects: captionlab.storage.schemas.OBJECTS
    generated: captionlab.storage.schemas.GENERATED. The captions are the candidates
    """
    input:
        files=judgement_files,
        images=lambda wildcards: f"results/corpora/{settings.judgements[wildcards.judgements].corpus}/images.parquet",
        captions=lambda wildcards: f"results/corpora/{settings.judgements[wildcards.judgements].corpus}/captions.parquet",
        objects=lambda wildcards: f"results/corpora/{settings.judgements[wildcards.judgements].corpus}/objects.parquet",
    output:
        candidates="results/judgements/{judgements}/candidates.parquet",
        ratings="results/judgements/{judgements}/ratings.parquet",
        preferences="results/judgements/{judgements}/preferences.parquet",
        images="results/corpora/{judgements}/images.parquet",
        captions="results/corpora/{judgements}/captions.parquet",
        objects="results/corpora/{judgements}/objects.parquet",
        generated="results/captions/{judgements}/{judgements}.parquet",
    log:
        "results/logs/read_judgements/{judgements}.log",
    wildcard_constraints:
        judgements=any_of(settings.judgements),
    conda:
        "../../envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=graph.memory(4000, captions=20),
        runtime=30,
    params:
        **graph.software(
            "read_judgements",
            loads=lambda wildcards: graph.modules(
                "judgements.readers", settings.judgements[wildcards.judgements].reader
            ),
        ),
        config=judgement_config,
        data=settings.data,
    message:
        "read the judgements {wildcards.judgements}"
    script:
        "../scripts/read_judgements.py"


def scores_of_judged(wildcards):
    """Return the tables of scores of the judged captions of all pooled sets, by the name of the metric."""
    tables = {}
    for name in wildcards.judgements.split(POOL):
        for table, files in graph.score_tables(name).items():
            tables[table] = [*tables.get(table, []), *files]
    return tables


def pooled_tables(wildcards, table):
    """Return a table of each set of judgements that is pooled."""
    return [f"results/judgements/{name}/{table}.parquet" for name in wildcards.judgements.split(POOL)]


def pooled_names():
    """Return a regular expression of the name of a set, or of several names of sets that are pooled."""
    name = f"(?:{any_of(settings.judgements)})"
    return f"{name}(?:{re.escape(POOL)}{name})*"


def bytes_of_pairs(wildcards, input):
    """Return the bytes that correlations hold of every two images that were rated: up to three numbers of 8 bytes."""
    return 24 * sum(distinct(ratings, "image_id") for ratings in input.ratings) ** 2


def judged_factors(wildcards):
    """Return the factor that puts the scores of each scorer of pooled sets into per cent."""
    sets = wildcards.judgements.split(POOL)
    scorers = {scorer for name in sets for scorer in settings.evaluations[name].scorers}
    return {name: graph.score_factors()[name] for name in sorted(scorers)}


rule correlate_judgements:
    """Correlate metrics with the judgements of a set, or of several sets that are pooled and whose names are joined
    by +.

    correlations: captionlab.judgements.schemas.CORRELATIONS. Metrics are held against ratings by tau-b, tau-c and
        Pearson's r, and against preferences by accuracy, by category and over all
    differences: captionlab.judgements.schemas.DIFFERENCES
    slices: captionlab.judgements.schemas.SLICES
    """
    input:
        unpack(scores_of_judged),
        candidates=lambda wildcards: pooled_tables(wildcards, "candidates"),
        ratings=lambda wildcards: pooled_tables(wildcards, "ratings"),
        preferences=lambda wildcards: pooled_tables(wildcards, "preferences"),
    output:
        correlations="results/judgements/{judgements}/correlations.parquet",
        differences="results/judgements/{judgements}/differences.parquet",
        slices="results/judgements/{judgements}/slices.parquet",
    log:
        "results/logs/correlate_judgements/{judgements}.log",
    wildcard_constraints:
        judgements=pooled_names(),
    conda:
        "../../envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=graph.memory(4000, bytes_of_pairs, ratings=20),  # the square of the images, and rows of ratings
        runtime=60,
    params:
        **graph.software(
            "correlate_judgements",
            "numpy",
            "scipy",
            loads=lambda wildcards: dict.fromkeys(
                graph.modules("evaluation.metrics", *scores_of_judged(wildcards)), ()
            ),
        ),
        factors=judged_factors,
        seed=settings.seed,
    message:
        "hold metrics against the judgements {wildcards.judgements}"
    script:
        "../scripts/correlate_judgements.py"


def foil_score_tables(wildcards):
    """Return the tables of scores of all pooled sets by the name of the metric, without metrics that read only
    references."""
    known = graph.metrics()
    return {table: files for table, files in scores_of_judged(wildcards).items() if not known[table].references}


def language_model(wildcards):
    """Return the language model of the config, as a list, which is empty if the config has none or if pooled sets have
    captions of another language than the model."""
    if not settings.language:
        return []
    learned = settings.language.model.corpus or settings.evaluations[settings.language.evaluation].corpora[0]
    corpora = [settings.judgements[name].corpus for name in wildcards.judgements.split(POOL)]
    if {graph.tokens_of(corpus) for corpus in corpora} != {graph.tokens_of(learned)}:
        return []
    arpa = settings.language.model.arpa
    return [graph.given(arpa) if arpa else "results/language/model.arpa"]


def judged_tokens(wildcards):
    """Return the tokenised captions of each set of judgements that is pooled, for the language model."""
    names = wildcards.judgements.split(POOL) if language_model(wildcards) else []
    return [f"results/evaluation/{name}/{name}/tokens.parquet" for name in names]


def foil_thresholds(wildcards):
    """Return the score of the probability 1/2 of each scorer of pooled sets whose scores are probabilities."""
    thresholds = graph.score_thresholds()
    return {name: thresholds[name] for name in judged_factors(wildcards) if name in thresholds}


def bytes_of_foils(wildcards, input):
    """Return the bytes that measures on foils hold of every two pairs: up to three numbers of 8 bytes."""
    return 24 * sum(rows_of(preferences) for preferences in input.preferences) ** 2


rule measure_foils:
    """Measure how well metrics tell true captions from foils, on a set of judgements, or on several sets that are pooled
    and whose names are joined by +. If the config has `language`, so does its language model, which sees no image.

    measures: captionlab.judgements.schemas.FOIL_MEASURES
    differences: captionlab.judgements.schemas.FOIL_DIFFERENCES. Metrics and categories are compared
    """
    input:
        unpack(foil_score_tables),
        preferences=lambda wildcards: pooled_tables(wildcards, "preferences"),
        model=language_model,
        tokens=judged_tokens,
    output:
        measures="results/judgements/{judgements}/foil_measures.parquet",
        differences="results/judgements/{judgements}/foil_differences.parquet",
    log:
        "results/logs/measure_foils/{judgements}.log",
    wildcard_constraints:
        judgements=pooled_names(),
    conda:
        "../../envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=graph.memory(4000, bytes_of_foils, preferences=20),  # the square of the pairs, and rows of pairs
        runtime=60,
    params:
        **graph.software(
            "measure_foils",
            "numpy",
            "scipy",
            loads=lambda wildcards: dict.fromkeys(
                graph.modules("evaluation.metrics", *foil_score_tables(wildcards)), ()
            ),
        ),
        tables=lambda wildcards: sorted(foil_score_tables(wildcards)),
        factors=judged_factors,
        thresholds=foil_thresholds,
        seed=settings.seed,
    message:
        "measure how metrics tell captions from foils in {wildcards.judgements}"
    script:
        "../scripts/measure_foils.py"
