"""Judgements: captions that people judged, scored by any metric as those of a captioner.

Needs: published files of judgements (docs/data.md; nothing where they are simulated) and the corpus of their images;
to hold metrics against them, tables of scores of the candidates.
Makes: results/judgements/{judgements}/{candidates,ratings,preferences,correlations,differences}.parquet, the last two
also of several sets together, whose names are joined by +; and what rules of evaluations read:
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
        **paths.judgements.named("candidates", "ratings", "preferences"),
        **paths.corpus.named("images", "captions", "objects", corpus="{judgements}"),
        generated=paths.captions("{judgements}", "{judgements}"),
        provenance=paths.provenance("read_judgements/{judgements}"),
    log:
        paths.log("read_judgements/{judgements}"),
    wildcard_constraints:
        judgements=lab.judgements.any(),
    conda:
        "../../envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=lab.memory(4000, captions=20),
        runtime=30,
    params:
        **lab.software("read_judgements", loads=lab.judgements.reader),
        config=lab.judgements.block,
        data=lab.data,
    message:
        "read the judgements {wildcards.judgements}"
    script:
        "../scripts/read_judgements.py"


rule correlate_judgements:
    input:
        unpack(lab.judgements.scored),
        ratings=lab.judgements.pooled("ratings"),
        preferences=lab.judgements.pooled("preferences"),
    output:
        **paths.judgements.named("correlations", "differences"),
        provenance=paths.provenance("correlate_judgements/{judgements}"),
    log:
        paths.log("correlate_judgements/{judgements}"),
    wildcard_constraints:
        judgements=lab.judgements.any_pooled(),
    conda:
        "../../envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=lab.memory(4000, lab.judgements.pairs, ratings=20),  # the square of the images, and rows of ratings
        runtime=60,
    params:
        **lab.software("correlate_judgements", "numpy", "scipy", loads=lab.judgements.metrics),
        factors=lab.judgements.factors,
        seed=lab.config["seed"],
    message:
        "hold metrics against the judgements {wildcards.judgements}"
    script:
        "../scripts/correlate_judgements.py"
