"""Corpora: images with texts.

Needs: nothing for the toy world; annotation files and image folders for the others (docs/data.md).
"""


def corpus_settings(wildcards):
    """Return the block of a corpus without the keys that its images and captions do not depend on."""
    reader = settings.corpora[wildcards.corpus].reader
    chosen = reader != "toyworld" and graph.facts("corpora.readers", reader).languages
    others = ["evaluation_split", "shards", "tokenizer", *([] if chosen else ["language"])]
    return graph.block("corpora", wildcards.corpus, *others)


rule render_toyworld:
    """Render the images of a corpus of the toy world.

    images: captionlab.storage.schemas.IMAGES
    captions: captionlab.storage.schemas.CAPTIONS
    objects: captionlab.storage.schemas.OBJECTS
    scene_captions: captionlab.storage.schemas.SCENE_CAPTIONS
    rejects: captionlab.storage.schemas.REJECTS
    """
    input:
        own(f"{ROOT}/resources/toyworld/objects.yaml"),
        own(f"{ROOT}/resources/toyworld/scenes.yaml"),
    output:
        images="results/corpora/{corpus}/images.parquet",
        captions="results/corpora/{corpus}/captions.parquet",
        objects="results/corpora/{corpus}/objects.parquet",
        scene_captions="results/corpora/{corpus}/scene_captions.parquet",
        rejects="results/corpora/{corpus}/rejects.parquet",
    log:
        "results/logs/render_toyworld/{corpus}.log",
    wildcard_constraints:
        corpus=graph.names_of("corpora", "rendered"),
    conda:
        "../../envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=30,
    params:
        **graph.software("render_toyworld", "numpy", "pillow"),
        config=corpus_settings,
    message:
        "render the toy world's {wildcards.corpus}"
    script:
        "../scripts/render_toyworld.py"


def read_files(wildcards):
    """Return the files, without images, that a reader needs before it starts."""
    return [own(path) for path in graph.input_files(wildcards.corpus) if not path.is_dir()]


def listed_folders(wildcards):
    """Return the folders whose file names a reader reads: one more image makes the corpus anew."""
    return [own(path) for path in graph.input_files(wildcards.corpus) if path.is_dir()]


rule read_corpus:
    """Read the annotations of a corpus, and check that each image can be read."""
    input:
        annotations=read_files,
        listed=listed_folders,
    output:
        images="results/corpora/{corpus}/images.parquet",
        captions="results/corpora/{corpus}/captions.parquet",
        objects="results/corpora/{corpus}/objects.parquet",
        scene_captions="results/corpora/{corpus}/scene_captions.parquet",
        rejects="results/corpora/{corpus}/rejects.parquet",
    log:
        "results/logs/read_corpus/{corpus}.log",
    wildcard_constraints:
        corpus=graph.names_of("corpora", "read"),
    conda:
        "../../envs/captionlab.yaml"
    threads: 8
    resources:
        mem_mb=8000,
        runtime=240,
    params:
        **graph.software(
            "read_corpus",
            "pillow",
            loads=lambda wildcards: graph.modules("corpora.readers", settings.corpora[wildcards.corpus].reader),
        ),
        config=corpus_settings,
        data=settings.data,
    message:
        "read the corpus {wildcards.corpus}"
    script:
        "../scripts/read_corpus.py"


rule check_corpus:
    """Check that a corpus has the images that trainings and evaluations need.

    output: an empty file
    """
    input:
        images="results/corpora/{corpus}/images.parquet",
    output:
        "results/corpora/{corpus}/checked",
    log:
        "results/logs/check_corpus/{corpus}.log",
    wildcard_constraints:
        corpus=graph.names_of("corpora", "read"),
    priority: 20  # Trainings have 10.
    conda:
        "../../envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        **graph.software("check_corpus"),
        needs=lambda wildcards: graph.needs_of(wildcards.corpus),
    message:
        "check the splits of the corpus {wildcards.corpus}"
    script:
        "../scripts/check_corpus.py"
