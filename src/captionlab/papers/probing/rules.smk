"""Rules of the paper on probing (Ma et al. 2022): its measurements, tables and figures.

Needs: scores by matching scorers, and the language of captions (workflow/rules/scorers.smk and language.smk).
"""

probing = settings.papers.probing
PROBING_TABLES = [
    "table1_choices",
    "table2_scores",
    "table3_examples",
    "table4_statistics",
    "table5_patterns",
    "table6_constructed",
    "table7_templates",
    "figure1_patterns",
    "figure2_replacements",
    "figure3_visual_words",
    "figure4_unigrams",
    "figure4_words",
    "rewards",
    "generalisation",
    "matching",
]
PROBING_FIGURES = {
    "figure1_patterns": "1: patterns",
    "figure2_replacements": "2: words replaced",
    "figure3_visual_words": "3: more visual words",
    "figure4_unigrams": "4: most frequent words",
}
# Each figure's numbers are in the table of the same name.
PROBING_TABLES_OF_FIGURES = {name: name for name in PROBING_FIGURES}


def probing_roles(wildcards=None):
    """Return the captioners of each role, by the paper's label; several captioners differ in their seeds."""
    return {label: listed(names) for label, names in sorted(probing.captioners.items())}


def probing_captioners(wildcards=None):
    """Return the captioners of all roles."""
    return sorted({name for names in probing_roles().values() for name in names})


def first_trainings():
    """Return the first captioner of each role: examples and patterns are of a single training."""
    return [names[0] for names in probing_roles().values()]


def constructed():
    """Return the captioners whose captions are constructed."""
    return listed(probing.constructed)


def originals():
    """Return the captioners whose captions others are constructed from."""
    return [settings.captioners[name].captions_of for name in constructed()]


def of_probing(path, captioners):
    """Return a file of each captioner in the paper's evaluation; `path` has both as wildcards."""
    return expand(path, captioner=captioners, evaluation=probing.evaluation)


def further_metrics(wildcards=None):
    """Return the tables of the evaluation with metrics that the paper does not have."""
    return [table for table, facts in graph.metrics(probing.evaluation).items() if facts.reads]


def probing_scorers(wildcards=None):
    """Return the paper's label of each scorer, the factor of its scores to per cent, and their bounds in per cent."""
    factors, bounds = graph.score_factors(), graph.score_bounds()
    labels = sorted((name, label) for label, name in probing.scorers.items())
    return {name: {"label": label, "factor": factors[name], "bounds": bounds[name]} for name, label in labels}


def examined_probing_scorers(wildcards=None):
    """Return the scorers of the paper that have a table of their accuracy."""
    return [name for name in probing_scorers() if name in graph.examined_scorers()]


def rewards_of_role(names):
    """Return the rewards of the captioners of a role."""
    return [reward for name in names for reward in graph.rewards(name)]


def rewarding_labels(wildcards):
    """Return the labels of the scorers that rewarded each role."""
    labels = {name: scorer["label"] for name, scorer in probing_scorers().items()}
    asked = {
        role: {reward.get("scorer") for reward in rewards_of_role(names)} for role, names in probing_roles().items()
    }
    return {role: sorted(labels[name] for name in scorers & labels.keys()) for role, scorers in asked.items()}


def rewarding_encoders_of_roles(wildcards):
    """Return the encoders that rewarded each role, as retrievers or as encoders of scorers."""
    found = {}
    for role, names in probing_roles().items():
        rewards = rewards_of_role(names)
        scorers = [settings.scorers[reward["scorer"]] for reward in rewards if reward.get("scorer") in settings.scorers]
        encoders = {reward.get("retriever") for reward in rewards} | {getattr(one, "encoder", None) for one in scorers}
        found[role] = sorted(encoders - {None})
    return found


def parents_of_roles(wildcards):
    """Return the parents of the captioners of roles, and of their ancestors; None for a captioner without a parent."""
    parents = {}
    for name in probing_captioners():
        while name is not None and name not in parents:
            parents[name] = getattr(settings.captioners[name], "parent", None)
            name = parents[name]
    return dict(sorted(parents.items()))


def probing_job(wildcards):
    """Return the evaluation, the name of its decoding and the split of each of its corpora."""
    return {"evaluation": probing.evaluation, **evaluation_contexts()[probing.evaluation]}


def probing_corpora(wildcards=None):
    """Return the corpora of the paper."""
    return sorted(set(probing.corpora.values()))


def metric_inputs(wildcards):
    """Return the scores by metrics that the paper does not have, by the name of the table."""
    return {
        f"metric_{table}": of_probing(
            f"results/evaluation/{{captioner}}/{{evaluation}}/{table}.parquet", probing_captioners()
        )
        for table in further_metrics()
    }


rule summarise_probing:
    """Measure the captions of roles, and constructed captions.

    values: captionlab.evaluation.schemas.ROLE_VALUES
    differences: captionlab.evaluation.schemas.ROLE_DIFFERENCES. The paper's claims are judged by them
    """
    input:
        unpack(metric_inputs),
        captions=of_probing("results/captions/{captioner}/{evaluation}.parquet", probing_captioners()),
        alignment=of_probing("results/evaluation/{captioner}/{evaluation}/alignment.parquet", probing_captioners()),
        nlg=f"results/evaluation/nlg/{probing.evaluation}.parquet",
        spice=of_probing(
            "results/evaluation/{captioner}/{evaluation}/spice.parquet",
            probing_captioners() if settings.spice != "off" else [],
        ),
        measures=of_probing("results/language/{captioner}/{evaluation}/measures.parquet", probing_captioners()),
        tags=of_probing("results/language/{captioner}/{evaluation}/tags.parquet", probing_captioners()),
        patterns=of_probing("results/language/{captioner}/{evaluation}/patterns.parquet", probing_captioners()),
        constructions=of_probing("results/language/{captioner}/{evaluation}/constructions.parquet", constructed()),
        constructed=of_probing("results/evaluation/{captioner}/{evaluation}/alignment.parquet", constructed()),
        originals=of_probing("results/evaluation/{captioner}/{evaluation}/alignment.parquet", originals()),
    output:
        values="results/reporting/probing/values.parquet",
        differences="results/reporting/probing/differences.parquet",
    log:
        "results/logs/summarise_probing.log",
    group:
        "reporting"
    conda:
        f"{ROOT}/envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=8000,
        runtime=60,
    params:
        **graph.software(
            "summarise_paper",
            "numpy",
            "scipy",
            loads={
                "captionlab.papers.probing.summary": [],
                **dict.fromkeys(graph.modules("evaluation.metrics", *further_metrics()), ()),
            },
        ),
        module="captionlab.papers.probing.summary",
        job=probing_job,
        captioners=probing_captioners,
        roles=probing_roles,
        parents=parents_of_roles,
        rewards=rewarding_labels,
        rewarding_encoders=rewarding_encoders_of_roles,
        scorers=probing_scorers,
        metrics=further_metrics,
        seed=settings.seed,
    message:
        "measure the numbers of the probing paper"
    script:
        f"{ROOT}/workflow/scripts/summarise_paper.py"


def cosines(wildcards):
    """Return the factor between printed scores and the cosine, by label of each scorer that is an encoder."""
    encoders = {
        label: name for label, name in sorted(probing.scorers.items()) if hasattr(settings.scorers[name], "encoder")
    }
    return {label: settings.scorers[name].scale * graph.score_factors()[name] for label, name in encoders.items()}


def objectives_of_roles(wildcards):
    """Return the objective of the first training of each role."""
    return {
        role: graph.block("captioners", names[0], only=["objective"]).get("objective", {})
        for role, names in probing_roles().items()
    }


def shown_captions(wildcards=None):
    """Return the evaluation of the captions of examples, the first training of each role, and scorers by label."""
    return {
        "evaluation": probing.evaluation,
        "first": {role: names[0] for role, names in probing_roles().items()},
        "scorers": {scorer["label"]: name for name, scorer in probing_scorers().items()},
    }


def probing_tables():
    """Return the tables of the paper, and a table of metrics that the paper does not have if these are computed."""
    return [*PROBING_TABLES, *(["effects"] if further_metrics() else [])]


rule tabulate_probing:
    """Make the tables of the paper, and tables beyond the paper.

    table1_choices: the CE caption and its nouns in each scorer's template: scores of one image, and how often each
        scorer would choose which
    table2_scores: every role by every scorer, and metrics; ours with interval, seeds and n, the published value, a
        verdict
    table3_examples: captions of a few images; the HTML shows the images
    table4_statistics: fluency, length and nouns of each role
    table5_patterns: patterns of the first training of each role
    table6_constructed: captions constructed for a few images; the HTML shows the images
    table7_templates: nouns of CE captions in the published templates, and in those found in each role's captions
    figure1_patterns: the numbers of Figure 1
    figure2_replacements: the numbers of Figure 2
    figure3_visual_words: the numbers of Figure 3
    figure4_unigrams: the numbers of Figure 4
    figure4_words: what the paper says of Figure 4 and of sentences: nouns and verbs among the most frequent words,
        how often a preposition, a verb or "and" connects two noun phrases, and how often each of "and", "but", "at",
        "near" and "of" does
    rewards: beyond the paper: which rewards raise the score and keep CIDEr and perplexity
    generalisation: beyond the paper: how captions trained on one scorer do by the others
    matching: beyond the paper: accuracy of the scorers that are trained here, or of another run with
        `matching.parquet`
    effects: beyond the paper: what each reward does to CLIPScore, objects that are not there, variety and novelty,
        where the evaluation asks for these
    pictures: pictures that tables of examples show in LaTeX, as PNG
    cells: captionlab.reporting.tables.cells.CELLS. By the cells, claims lead to the numbers of the tables
    """
    input:
        values="results/reporting/probing/values.parquet",
        differences="results/reporting/probing/differences.parquet",
        captions=of_probing("results/captions/{captioner}/{evaluation}.parquet", first_trainings()),
        alignment=of_probing("results/evaluation/{captioner}/{evaluation}/alignment.parquet", first_trainings()),
        patterns=of_probing("results/language/{captioner}/{evaluation}/patterns.parquet", first_trainings()),
        unigrams=of_probing("results/language/{captioner}/{evaluation}/unigrams.parquet", first_trainings()),
        constructed=of_probing("results/captions/{captioner}/{evaluation}.parquet", constructed()),
        constructions=of_probing("results/language/{captioner}/{evaluation}/constructions.parquet", constructed()),
        constructed_alignment=of_probing("results/evaluation/{captioner}/{evaluation}/alignment.parquet", constructed()),
        originals=of_probing("results/captions/{captioner}/{evaluation}.parquet", originals()),
        original_alignment=of_probing("results/evaluation/{captioner}/{evaluation}/alignment.parquet", originals()),
        images=expand("results/corpora/{corpus}/images.parquet", corpus=probing_corpora()),
        matching=lambda wildcards: [graph.examined_scorers()[name] for name in examined_probing_scorers()],
        published=own(place_of("papers", "probing") / "published.csv"),
    output:
        tables=expand("results/reporting/probing/probing_{name}.{ending}", name=probing_tables(), ending=FORMATS),
        pictures=directory("results/reporting/probing/pictures"),
        cells="results/reporting/probing/cells.parquet",
    log:
        "results/logs/tabulate_probing.log",
    group:
        "reporting"
    conda:
        f"{ROOT}/envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=4000,
        runtime=30,
    params:
        **graph.software("tabulate_paper", loads={"captionlab.papers.probing.tables": []}),
        module="captionlab.papers.probing.tables",
        figures=lambda wildcards: figures_beside("probing", PROBING_FIGURES, PROBING_TABLES_OF_FIGURES),
        config=graph.block("papers", "probing"),
        job=probing_job,
        roles=list(probing_roles()),
        corpora=probing_corpora,
        scorers=probing_scorers,
        cosines=cosines,
        trained_scorers=examined_probing_scorers,
        metrics=further_metrics,
        rewards=rewarding_labels,
        rewarding_encoders=rewarding_encoders_of_roles,
        spoken=shown_captions,
        objectives=objectives_of_roles,
        provenance=lambda wildcards: graph.provenance(),
    message:
        "make the tables of the probing paper"
    script:
        f"{ROOT}/workflow/scripts/tabulate_paper.py"


rule plot_probing:
    """Draw the figures of the paper."""
    input:
        values="results/reporting/probing/values.parquet",
        differences="results/reporting/probing/differences.parquet",
        patterns=of_probing("results/language/{captioner}/{evaluation}/patterns.parquet", first_trainings()),
        unigrams=of_probing("results/language/{captioner}/{evaluation}/unigrams.parquet", first_trainings()),
        tags=of_probing("results/language/{captioner}/{evaluation}/tags.parquet", first_trainings()),
        published=own(place_of("papers", "probing") / "published.csv"),
        style=own(ROOT / "config/plotting.yaml"),
    output:
        **figures("probing", "results/figures/probing_{name}{ending}", PROBING_FIGURES),
    log:
        "results/logs/plot_probing.log",
    group:
        "reporting"
    conda:
        f"{ROOT}/envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=10,
    params:
        **graph.software("plot_paper", "matplotlib", loads={"captionlab.papers.probing.figures": []}),
        caveats=caveats,
        venue=settings.venue,
        pages=figure_pages("probing", PROBING_FIGURES, PROBING_TABLES_OF_FIGURES),
        module="captionlab.papers.probing.figures",
        config=graph.block("papers", "probing"),
        roles=list(probing_roles()),
        cosines=cosines,
        spoken=shown_captions,
    message:
        "draw the figures of the probing paper"
    script:
        f"{ROOT}/workflow/scripts/plot_paper.py"


def probing_evidence():
    """Return the files by which claims are judged, and further parameters: differences between roles."""
    return {"differences": "results/reporting/probing/differences.parquet"}, {}


papers["probing"] = Paper(
    citation="Ma et al. 2022, *Probing Cross-modal Semantics Alignment Capability from the Textual Perspective*",
    tables=rules.tabulate_probing.output.tables,
    figures=PROBING_FIGURES,
    tables_of_figures=PROBING_TABLES_OF_FIGURES,
    evidence=probing_evidence,
    spoken=shown_captions,
)
