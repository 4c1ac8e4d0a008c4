"""Corpora: images with texts.

Needs: nothing for the toy world; annotation files and image folders for the others (docs/data.md).
Makes: results/corpora/{corpus}/{images,captions,objects,scene_captions,rejects}.parquet
"""


rule render_toyworld:
    input:
        lab.toyworld_files(),
    output:
        images="results/corpora/{corpus}/images.parquet",
        captions="results/corpora/{corpus}/captions.parquet",
        objects="results/corpora/{corpus}/objects.parquet",
        scene_captions="results/corpora/{corpus}/scene_captions.parquet",
        rejects="results/corpora/{corpus}/rejects.parquet",
        provenance="results/provenance/render_toyworld/{corpus}.json",
    log:
        "results/logs/render_toyworld/{corpus}.log",
    wildcard_constraints:
        corpus=lab.of_kind("corpora", "rendered"),
    conda:
        "../../envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=30,
    params:
        **lab.software("render_toyworld", "numpy", "pillow"),
        config=lab.settings("corpus", "evaluation_split", "shards"),
    message:
        "render the toy world's {wildcards.corpus}"
    script:
        "../scripts/render_toyworld.py"


rule read_corpus:
    input:
        annotations=lab.annotation_files,
        listed=lab.listed_folders,
    output:
        images="results/corpora/{corpus}/images.parquet",
        captions="results/corpora/{corpus}/captions.parquet",
        objects="results/corpora/{corpus}/objects.parquet",
        scene_captions="results/corpora/{corpus}/scene_captions.parquet",
        rejects="results/corpora/{corpus}/rejects.parquet",
        provenance="results/provenance/read_corpus/{corpus}.json",
    log:
        "results/logs/read_corpus/{corpus}.log",
    wildcard_constraints:
        corpus=lab.of_kind("corpora", "read"),
    conda:
        "../../envs/captionlab.yaml"
    threads: 8
    resources:
        mem_mb=8000,
        runtime=240,
    params:
        **lab.software("read_corpus", "pillow", loads=lab.reader),
        config=lab.settings("corpus", "evaluation_split", "shards"),
        data=lab.data,
    message:
        "read the corpus {wildcards.corpus}"
    script:
        "../scripts/read_corpus.py"
