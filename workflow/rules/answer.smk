"""The first page of a run: what was run, whether it is valid, and what it says on each paper.

Needs: the tables of validity, claims and costs, and the differences between captioners.
"""


def places():
    """Return the pages that the first page leads to, each with its address, a title and a sentence."""
    asked = {
        "index": ("All tables and figures", "By paper, each as a page, CSV, Markdown and LaTeX.", True),
        "evaluation": ("Every metric", "Of every captioner and corpus, with intervals.", evaluation_contexts()),
        "differences": ("Captioners compared", "Differences with intervals and p-values.", are_compared()),
        "slices": (
            "Slices",
            "Where captions are worst: by scene, object, length or your own column.",
            sliced_evaluations(),
        ),
        "make_table": ("Make your own table", "Choose rows and columns, and copy LaTeX.", evaluation_contexts()),
        "claims": ("Claims of the papers", "Each with its evidence in this run.", papers_of_config()),
        "cost": ("What it cost", "Time and memory of every rule.", True),
        "checklist": ("What reviewers ask", "Answers to the checklists of ARR and NeurIPS.", True),
    }
    found = [
        {"link": f"tables/{name}.html", "title": title, "sentence": sentence}
        for name, (title, sentence, there) in asked.items()
        if there
    ]
    others = [{**page, "link": os.path.relpath(page["file"], paths.RESULTS)} for page in pages()]
    return found[:1] + [{name: page[name] for name in ("link", "title", "sentence")} for page in others] + found[1:]


rule write_answer:
    """Write the first page of the run.

    page: the run, the conditions of validity, and for each paper the claims of its abstract: their verdicts, the
        differences of this run with their intervals beside the paper's, and links to captions, tables and other pages
    """
    input:
        summary="results/reporting/summary.parquet",
        comparisons="results/reporting/comparisons.parquet",
        costs="results/cost.parquet",
        validity=validity_rows,
        claims=claim_rows,
        effects=lambda wildcards: ["results/reporting/effects.parquet"] if papers_of_config() else [],
        reproduction=lambda wildcards: ["results/reporting/reproduction.csv"] if papers_of_config() else [],
    output:
        page="results/index.html",
    log:
        "results/logs/write_answer.log",
    conda:
        "../../envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        **graph.software("write_answer"),
        papers=compared_papers,
        places=places(),
        provenance=lambda wildcards: graph.provenance(),
    message:
        "write the first page of the run"
    script:
        "../scripts/write_answer.py"
