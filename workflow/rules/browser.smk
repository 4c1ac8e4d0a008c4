"""Browser: a page with every caption of every image and its scores.

Needs: the captions of every evaluation, their scores, and their corpora.
"""


def shown_evaluations(wildcards=None):
    """Return the captioners with scores, the corpora, the decoding and the candidates of each evaluation."""
    scored = {place for table in graph.metrics() for place in graph.scored_by(table)}
    shown = {}
    for name in sorted({evaluation for _, evaluation in scored}):
        evaluation = settings.evaluations[name]
        shown[name] = {
            "captioners": [captioner for captioner in evaluation.captioners if (captioner, name) in scored],
            "corpora": list(evaluation.corpora),
            "decoding": getattr(evaluation, "decoding", None) or "given",
            "candidates": evaluation.candidates,
            "seed": settings.seed if evaluation.candidate_sets == "random" else 0,
        }
    return shown


def shown_corpora():
    """Return the corpora of the evaluations that are shown."""
    return list(dict.fromkeys(corpus for shown in shown_evaluations().values() for corpus in shown["corpora"]))


def shown_captioners():
    """Return the parent and family of each captioner, and the corpora that it and its ancestors learned here."""
    names = sorted({captioner for shown in shown_evaluations().values() for captioner in shown["captioners"]})
    return {
        name: {
            "parent": getattr(settings.captioners[name], "parent", None),
            "family": graph.root_of(name).family,
            "trained": learned_corpora(name),
        }
        for name in names
    }


def training_corpora():
    """Return all corpora that the captioners that are shown learned."""
    return sorted({corpus for captioner in shown_captioners().values() for corpus in captioner["trained"]})


def shown_files(wildcards):
    """Return captions, scores, and the tables of the corpora that captions describe or captioners learned."""
    corpora, learned = shown_corpora(), training_corpora()
    return {
        "captions": scored_captions(wildcards),
        **graph.score_tables(),
        "images": [f"results/corpora/{corpus}/images.parquet" for corpus in corpora],
        "captions_of_corpora": [f"results/corpora/{corpus}/captions.parquet" for corpus in corpora],
        "objects": [f"results/corpora/{corpus}/objects.parquet" for corpus in corpora],
        "scenes": [f"results/corpora/{corpus}/scene_captions.parquet" for corpus in corpora],
        "training_images": [f"results/corpora/{corpus}/images.parquet" for corpus in learned],
        "training_captions": [f"results/corpora/{corpus}/captions.parquet" for corpus in learned],
        "slices": [f"results/slices/{evaluation}.parquet" for evaluation in columns_of_slices()],
        "paper_values": [f"results/reporting/{paper}/values.parquet" for paper in explained_papers()],
        "paper_differences": [f"results/reporting/{paper}/differences.parquet" for paper in explained_papers()],
    }


def explained_papers():
    """Return, for each paper with numbers of captions that are no metrics, who says the captions, and definitions."""
    explained = {}
    for name, paper in papers_of_config().items():
        if paper.spoken:
            analyses = graph.facts("papers", name).analyses
            definitions = {measure: asdict(definition) for measure, definition in analyses.items()}
            explained[name] = {**paper.spoken(), "analyses": definitions}
    return explained


def columns_of_slices():
    """Return the columns of the user that each evaluation is sliced by, of the evaluations with such columns."""
    columns = {name: [by for by in sliced_by(name) if by not in OWN_SLICES] for name in sliced_evaluations()}
    return {name: of_evaluation for name, of_evaluation in columns.items() if of_evaluation}


def shown(wildcards):
    """Return the parameters of the page, beside files."""
    return {
        "tables": list(graph.score_tables()),
        "evaluations": shown_evaluations(),
        "corpora": shown_corpora(),
        "splits": {corpus: settings.corpora[corpus].evaluation_split for corpus in shown_corpora()},
        "languages": graph.languages(*shown_corpora()),
        "captioners": shown_captioners(),
        "training": training_corpora(),
        "sliced": columns_of_slices(),
        "papers": explained_papers(),
        "factors": graph.score_factors(),
    }


rule build_browser:
    """Build the browser of captions.

    output: a page that shows the captions of every image by every captioner, with their scores (docs/browser.md):
        `index.html`, data as scripts for each corpus, and JPEG files of at most 320 pixels
    """
    input:
        unpack(shown_files),
        summary="results/reporting/summary.parquet",
        comparisons="results/reporting/comparisons.parquet",
        page=[
            own(f"{ROOT}/resources/browser/{path.name}") for path in sorted((ROOT / "resources" / "browser").iterdir())
        ],
    output:
        directory("results/browser"),
    log:
        "results/logs/build_browser.log",
    conda:
        "../../envs/captionlab.yaml"
    threads: 4
    resources:
        mem_mb=8000,
        runtime=60,
    params:
        **graph.software(
            "build_browser",
            "pillow",
            loads=lambda wildcards: dict.fromkeys(graph.modules("evaluation.metrics", *graph.score_tables()), ()),
        ),
        shown=shown,
        about=lambda wildcards: {
            **{name: graph.provenance()[name] for name in ("config", "seed", "toy")},
            "caveats": caveats,
        },
    message:
        "build the page that shows captions"
    script:
        "../scripts/build_browser.py"
