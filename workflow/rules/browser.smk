"""Browser: what every captioner said of every image, to be looked at.

Needs: the captions of every evaluation, their scores, and the corpora that they are of.
Makes: results/browser/, a page that needs no server
"""


def shown_files(wildcards):
    """Captions, scores, and the tables of corpora that captions describe and that captioners learned."""
    return graph.browser_inputs()


rule build_browser:
    input:
        unpack(shown_files),
        page=[
            own(f"{ROOT}/resources/browser/{path.name}") for path in sorted((ROOT / "resources" / "browser").iterdir())
        ],
    output:
        directory("results/browser"),
        provenance="results/provenance/build_browser.json",
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
        shown=lambda wildcards: graph.browser(),
        about=lambda wildcards: {name: graph.provenance()[name] for name in ("config", "seed", "toy")},
    message:
        "build the page that shows captions"
    script:
        "../scripts/build_browser.py"
