"""Browser: what every captioner said of every image, to be looked at.

Needs: the captions of every evaluation, their scores, and the corpora that they are of.
Makes: results/browser/, a page that needs no server
"""


rule build_browser:
    input:
        **lab.browser.inputs(),
        page=lab.browser.page(),
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
        **graph.software("build_browser", "pillow", loads=lab.score_modules()),
        **lab.browser.params(),
        about={name: lab.provenance()[name] for name in ("config", "seed", "toy")},
    message:
        "build the page that shows captions"
    script:
        "../scripts/build_browser.py"
