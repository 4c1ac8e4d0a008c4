"""Documenting: what others need to know of a run: a card for every model, a page for reviewers, and what it reproduces.

Needs: the models, their corpora and logs; the tables of the reporting stage, its claims and its costs.
Makes: README.md beside the weights of what was trained, and the tables checklist and reproduction
"""


rule write_model_cards:
    input:
        summary="results/reporting/summary.parquet",
        comparisons="results/reporting/comparisons.parquet",
        validity=lab.validity_table(),
        configs=lab.documenting.files("config.json", lab.documenting.trained()),
        weights=lab.documenting.files("model.safetensors", lab.documenting.trained()),
        training=lab.documenting.files("training.parquet", lab.documenting.trained()),
        made=lab.documenting.made(),
        matching=lab.documenting.matching(),
        images=lab.documenting.tables("images"),
        captions=lab.documenting.tables("captions"),
        rejects=lab.documenting.tables("rejects"),
        software=graph.shipped("CITATION.cff"),
    output:
        cards=lab.documenting.cards(),
        provenance="results/provenance/write_model_cards.json",
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
        models=lab.documenting.described_trained(),
        corpora=lab.documenting.described_corpora(),
        humans=lab.validity.humans(),
        papers=lab.papers.citations(),
    message:
        "write a card for every model that was trained"
    script:
        "../scripts/write_model_cards.py"


rule collect_checklist:
    input:
        costs="results/cost.parquet",
        comparisons="results/reporting/comparisons.parquet",
        validity=lab.validity_table(),
        claims=lab.claims_table(),
        weights=lab.documenting.files("model.safetensors", lab.documenting.models()),
        training=lab.documenting.files("training.parquet", lab.documenting.trained()),
        images=lab.documenting.tables("images"),
        captions=lab.documenting.tables("captions"),
        rejects=lab.documenting.tables("rejects"),
        searches=lab.scene_analysis.searches(),
        participants=lab.study.tables("participants"),
        excluded=lab.study.data("exclude"),
        software=graph.shipped("CITATION.cff"),
    output:
        tables=multiext("results/reporting/checklist", ".csv", ".md", ".html"),
        provenance="results/provenance/collect_checklist.json",
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
        models=lab.documenting.described_models(),
        seeds=lab.documenting.seeds_of_trainings(),
        training_rules=lab.documenting.training_rules(),
        corpora=lab.documenting.described_corpora(),
        evaluations=lab.evaluation_contexts(),
        decodings=lab.documenting.decodings(),
        metrics=lab.documenting.metrics(lab.score_tables()),
        papers=lab.papers.asked_for(),
        judgements=lab.documenting.judgements(),
        provenance=lab.provenance(),
    message:
        "answer what reviewers ask"
    script:
        "../scripts/collect_checklist.py"


rule collect_reproduction:
    input:
        claims="results/reporting/claims.csv",
        numbers=lab.papers.numbers(),
    output:
        tables=multiext("results/reporting/reproduction", ".csv", ".md", ".html"),
        provenance="results/provenance/collect_reproduction.json",
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
        papers=lab.papers.asked_for(),
        provenance=lab.provenance(),
    message:
        "sum up what this run reproduces"
    script:
        "../scripts/collect_reproduction.py"
