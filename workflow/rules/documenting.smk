"""Documenting: a card for every model, a page for reviewers, and the claims and numbers that the run reproduces.

Needs: the models, their corpora and logs; the tables of the reporting stage, its claims and its costs.
"""


def trained_models():
    """Return the section and name of each model that the run trains."""
    return [(model["section"], model["name"]) for model in graph.described_models(trained=True)]


def trained_files(file):
    """Return an input function: a file of each model that is trained here."""
    return lambda wildcards: [f"results/{section}/{name}/{file}" for section, name in trained_models()]


def corpus_tables(table):
    """Return an input function: a table of each corpus that the run reads or renders."""
    return lambda wildcards: [f"results/corpora/{corpus}/{table}.parquet" for corpus in graph.described_corpora()]


def validity_rows(wildcards):
    """Return the rows of the table `validity`, if the config asks for it."""
    return ["results/reporting/validity.csv"] if settings.validity else []


def claim_rows(wildcards):
    """Return the rows of the table `claims`, if the config asks for a paper."""
    return ["results/reporting/claims.csv"] if papers_of_config() else []


def scorers_that_are_examined(wildcards):
    """Return the tables with the accuracy of each scorer that is trained here."""
    return [f"results/scorers/{name}/matching.parquet" for section, name in trained_models() if section == "scorers"]


rule write_model_cards:
    """Write a card for every model that was trained.

    cards: the card of a model that was trained here, as hubs show it: what it is, data and licences, lineage,
        objective and hyper-parameters, cost, numbers with intervals against its parent, limits, how to load and to
        cite it. The main numbers are in its metadata
    """
    input:
        summary="results/reporting/summary.parquet",
        comparisons="results/reporting/comparisons.parquet",
        validity=validity_rows,
        configs=trained_files("config.json"),
        weights=trained_files("model.safetensors"),
        training=trained_files("training.parquet"),
        matching=scorers_that_are_examined,
        images=corpus_tables("images"),
        captions=corpus_tables("captions"),
        rejects=corpus_tables("rejects"),
        software=own(f"{ROOT}/CITATION.cff"),
    output:
        cards=[f"results/{section}/{name}/README.md" for section, name in trained_models()],
    log:
        "results/logs/write_model_cards.log",
    conda:
        "../../envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=4000,
        runtime=30,
    params:
        **graph.software("write_model_cards"),
        caveats=caveats,
        models=lambda wildcards: graph.described_models(trained=True),
        corpora=lambda wildcards: graph.described_corpora(),
        humans=humans,
        papers={name: paper.citation for name, paper in papers.items()},
    message:
        "write a card for every model that was trained"
    script:
        "../scripts/write_model_cards.py"


def searches(wildcards):
    """Return the settings that were tried for the neural probe of each analysed captioner."""
    scenes = settings.scene_analysis
    return [f"results/probes/{name}/search.parquet" for name in (scenes.pretrained, scenes.finetuned)] if scenes else []


def study_participants(wildcards):
    """Return the participants of the study: people, simulated participants or both."""
    return [f"results/study/{who}/participants.parquet" for who in participants()]


def training_seeds(wildcards):
    """Return the seed of each training, by section and name."""
    return {
        f"{section}/{name}": getattr(settings, section)[name].seed
        for section, name in trained_models()
        if "@" not in name
    }


def compared_papers(wildcards):
    """Return the citation of each paper, and whether its published numbers may be compared with this run."""
    return {
        name: {"citation": paper.citation, "comparable": bool(getattr(settings.papers, name).comparable)}
        for name, paper in papers_of_config().items()
    }


rule collect_checklist:
    """Answer what reviewers ask about experiments.

    tables: questions of the Responsible NLP Research checklist of ACL Rolling Review and of the NeurIPS Paper
        Checklist: parameters, trainings and seeds, search, validation, device hours, images and captions, licences,
        metrics, intervals, people. Each has a value, or why there is none
    """
    input:
        costs="results/cost.parquet",
        comparisons="results/reporting/comparisons.parquet",
        validity=validity_rows,
        claims=claim_rows,
        weights=lambda wildcards: [
            f"results/{model['section']}/{model['name']}/model.safetensors" for model in graph.described_models()
        ],
        training=trained_files("training.parquet"),
        images=corpus_tables("images"),
        captions=corpus_tables("captions"),
        rejects=corpus_tables("rejects"),
        searches=searches,
        participants=study_participants,
        excluded=lambda wildcards: excluded_images(wildcards) if settings.study else [],
        software=own(f"{ROOT}/CITATION.cff"),
    output:
        tables=multiext("results/reporting/checklist", ".csv", ".md", ".html"),
    log:
        "results/logs/collect_checklist.log",
    conda:
        "../../envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=4000,
        runtime=30,
    params:
        **graph.software("collect_checklist"),
        models=lambda wildcards: graph.described_models(),
        seeds=training_seeds,
        training_rules=[
            "finetune_captioner",
            "finetune_with_trl",
            "pretrain_captioner",
            "pretrain_scorer",
            "train_encoder",
        ],
        corpora=lambda wildcards: graph.described_corpora(),
        evaluations=lambda wildcards: evaluation_contexts(),
        decodings=lambda wildcards: {name: graph.block("decodings", name) for name in sorted(settings.decodings)},
        metrics=lambda wildcards: {table: headline("evaluation.metrics", table) for table in graph.score_tables()},
        papers=compared_papers,
        judgements=lambda wildcards: {
            name: graph.facts("judgements.readers", judged.reader).simulated
            for name, judged in settings.judgements.items()
        },
        provenance=lambda wildcards: graph.provenance(),
    message:
        "answer what reviewers ask"
    script:
        "../scripts/collect_checklist.py"


rule collect_reproduction:
    """Sum up the claims and numbers that the run reproduces.

    tables: by paper how many claims, each counted once, hold, do not hold or were not tested, and each claim in a
        sentence. Below: how many published numbers the run agrees with, differs from, or cannot be compared with
    """
    input:
        claims="results/reporting/claims.csv",
        numbers=[path for paper in papers.values() for path in paper.tables if path.endswith(".csv")],
    output:
        tables=multiext("results/reporting/reproduction", ".csv", ".md", ".html"),
    log:
        "results/logs/collect_reproduction.log",
    conda:
        "../../envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        **graph.software("collect_reproduction"),
        papers=compared_papers,
        provenance=lambda wildcards: graph.provenance(),
    message:
        "sum up what this run reproduces"
    script:
        "../scripts/collect_reproduction.py"


def model_cards():
    """Return the cards of all models that are trained here."""
    return [f"results/{section}/{name}/README.md" for section, name in trained_models()]
