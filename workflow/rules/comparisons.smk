"""Comparisons: a model behind a server says which of two captions is better, and captioners are ranked.

Needs: the captions of an evaluation, the images or references of its corpora, and a server.
"""


def paired_captioners(comparison):
    """Return the captioners that a comparison compares."""
    block = settings.comparisons[comparison]
    return list(block.captioners or settings.evaluations[block.evaluation].captioners)


def paired_captions(wildcards):
    """Return the captions of each captioner of a comparison."""
    evaluation = settings.comparisons[wildcards.comparison].evaluation
    return [
        f"results/captions/{captioner}/{evaluation}.parquet" for captioner in paired_captioners(wildcards.comparison)
    ]


def paired_corpora(wildcards):
    """Return the corpora of a comparison."""
    return settings.evaluations[settings.comparisons[wildcards.comparison].evaluation].corpora


def paired_images(wildcards):
    """Return the images of each corpus of a comparison."""
    return [f"results/corpora/{corpus}/images.parquet" for corpus in paired_corpora(wildcards)]


def shown_in_pairs(kind, table):
    """Return an input function of a table of each corpus, if the model is shown the `kind` of things in it."""
    return lambda wildcards: [
        f"results/corpora/{corpus}/{table}.parquet"
        for corpus in paired_corpora(wildcards)
        if settings.comparisons[wildcards.comparison].shows == kind
    ]


def comparison_prompt(wildcards):
    """Return the template of the message to the model: a file of the config, or the one that comes with the workflow."""
    given = settings.comparisons[wildcards.comparison].prompt
    return graph.given(given) if given else own(f"{ROOT}/resources/comparisons/prompt.jinja")


rule compare_pairs:
    """Ask a model behind a server which of the captions of every two captioners is better, in both orders.

    preferences: captionlab.comparisons.schemas.PREFERENCES
    """
    input:
        captions=paired_captions,
        images=shown_in_pairs("image", "images"),
        references=shown_in_pairs("references", "captions"),
        prompt=comparison_prompt,
    output:
        preferences="results/comparisons/{comparison}/preferences.parquet",
    log:
        "results/logs/compare_pairs/{comparison}.log",
    wildcard_constraints:
        comparison=any_of(settings.comparisons),
    conda:
        "../../envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=graph.memory(4000, images=2),
        runtime=480,
    params:
        **graph.software("compare_pairs", "pillow", "jinja2", "jsonschema"),
        config=lambda wildcards: graph.block("comparisons", wildcards.comparison, "evaluation", "captioners", "prompt"),
        captioners=lambda wildcards: paired_captioners(wildcards.comparison),
        corpora=paired_corpora,
        seed=settings.seed,
    message:
        "ask a model which captions are better, for {wildcards.comparison}"
    script:
        "../scripts/compare_pairs.py"


rule rank_captioners:
    """Rank captioners by the preferences of a model between their captions.

    rankings: captionlab.comparisons.schemas.RANKINGS
    """
    input:
        preferences="results/comparisons/{comparison}/preferences.parquet",
    output:
        rankings="results/comparisons/{comparison}/rankings.parquet",
    log:
        "results/logs/rank_captioners/{comparison}.log",
    wildcard_constraints:
        comparison=any_of(settings.comparisons),
    conda:
        "../../envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=30,
    params:
        **graph.software("rank_captioners", "numpy", "scipy"),
        captioners=lambda wildcards: paired_captioners(wildcards.comparison),
        seed=settings.seed,
    message:
        "rank the captioners of {wildcards.comparison}"
    script:
        "../scripts/rank_captioners.py"


rule show_preferences:
    """Make a table of the captions that a model compared, with its answers and reasons.

    tables: the images of a comparison, at most 100, with a row for every two captions in each order
    """
    input:
        preferences="results/comparisons/{comparison}/preferences.parquet",
        captions=paired_captions,
        images=paired_images,
    output:
        tables=multiext("results/reporting/comparisons_{comparison}_pairs", ".csv", ".md", ".html"),
    log:
        "results/logs/show_preferences/{comparison}.log",
    wildcard_constraints:
        comparison=any_of(settings.comparisons),
    conda:
        "../../envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=graph.memory(2000, images=2),
        runtime=30,
    params:
        **graph.software("show_preferences", "pillow"),
        captioners=lambda wildcards: paired_captioners(wildcards.comparison),
        corpora=paired_corpora,
        model=lambda wildcards: settings.comparisons[wildcards.comparison].model,
        provenance=lambda wildcards: graph.provenance(),
    message:
        "show what a model prefers, for {wildcards.comparison}"
    script:
        "../scripts/show_preferences.py"
