"""Judgements: captions that people judged, scored by any metric as those of a captioner.

Needs: published files of judgements (docs/data.md; nothing where they are simulated) and the corpus of their images;
to hold metrics against them, tables of scores of the candidates.
Makes: results/judgements/{judgements}/{candidates,ratings,preferences,correlations,differences}.parquet, and what rules
of evaluations read:
results/captions/{judgements}/{judgements}.parquet and results/corpora/{judgements}/{images,captions,objects}.parquet,
the judged images with the references that are no candidates themselves.
"""


rule read_judgements:
    input:
        files=lab.judgements.files,
        images=lab.judgements.table("images"),
        captions=lab.judgements.table("captions"),
        objects=lab.judgements.table("objects"),
    output:
        candidates="results/judgements/{judgements}/candidates.parquet",
        ratings="results/judgements/{judgements}/ratings.parquet",
        preferences="results/judgements/{judgements}/preferences.parquet",
        images="results/corpora/{judgements}/images.parquet",
        captions="results/corpora/{judgements}/captions.parquet",
        objects="results/corpora/{judgements}/objects.parquet",
        generated="results/captions/{judgements}/{judgements}.parquet",
        provenance="results/provenance/read_judgements/{judgements}.json",
    log:
        "results/logs/read_judgements/{judgements}.log",
    wildcard_constraints:
        judgements=lab.judgements.any(),
    conda:
        "../../envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=graph.memory(4000, captions=20),
        runtime=30,
    params:
        **graph.software("read_judgements", loads=lab.judgements.reader),
        config=lab.judgements.block,
        data=lab.data,
    message:
        "read the judgements {wildcards.judgements}"
    script:
        "../scripts/read_judgements.py"


rule correlate_judgements:
    input:
        unpack(lab.judgements.scored),
        ratings="results/judgements/{judgements}/ratings.parquet",
        preferences="results/judgements/{judgements}/preferences.parquet",
    output:
        correlations="results/judgements/{judgements}/correlations.parquet",
        differences="results/judgements/{judgements}/differences.parquet",
        provenance="results/provenance/correlate_judgements/{judgements}.json",
    log:
        "results/logs/correlate_judgements/{judgements}.log",
    wildcard_constraints:
        judgements=lab.judgements.any(),
    conda:
        "../../envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=graph.memory(4000, lab.judgements.pairs, ratings=20),  # the square of the images, and rows of ratings
        runtime=60,
    params:
        **graph.software("correlate_judgements", "numpy", "scipy", loads=lab.judgements.metrics),
        factors=lab.judgements.factors,
        seed=settings.seed,
    message:
        "hold metrics against the judgements {wildcards.judgements}"
    script:
        "../scripts/correlate_judgements.py"
