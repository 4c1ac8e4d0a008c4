"""Corpora: images with texts.

Needs: nothing for the toy world; annotation files and image folders for the others (docs/data.md).
Makes: results/corpora/{corpus}/{images,captions,objects,scene_captions,rejects}.parquet
"""


rule render_toyworld:
    input:
        lab.toyworld_files(),
    output:
        **paths.corpus.named("images", "captions", "objects", "scene_captions", "rejects"),
        provenance=paths.provenance("render_toyworld/{corpus}"),
    log:
        paths.log("render_toyworld/{corpus}"),
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
        **paths.corpus.named("images", "captions", "objects", "scene_captions", "rejects"),
        provenance=paths.provenance("read_corpus/{corpus}"),
    log:
        paths.log("read_corpus/{corpus}"),
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
