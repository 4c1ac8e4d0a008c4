"""Slices: every metric on parts of a corpus, such as the images of a scene or the captions of a length.

Needs: the scores of captions, the captions, and the corpora of evaluations with `slices`; files of the user.
"""


def sliced_evaluations():
    """Return the evaluations with slices by name."""
    return {name: evaluation for name, evaluation in own_evaluations().items() if evaluation.slices}


def sliced_by(evaluation):
    """Return what an evaluation has slices by, columns of the user by their names."""
    return [one if isinstance(one, str) else one.column for one in settings.evaluations[evaluation].slices]


def slice_files(wildcards):
    """Return the files of the user by whose columns an evaluation is sliced."""
    slices = settings.evaluations[wildcards.evaluation].slices
    return [graph.given(one.file) for one in slices if not isinstance(one, str)]


def labels_for_slices(kind, table):
    """Return an input function of a table of each corpus, if the evaluation is sliced by this kind of labels."""
    return lambda wildcards: [
        f"results/corpora/{corpus}/{table}.parquet"
        for corpus in evaluated_corpora(wildcards)
        if kind in sliced_by(wildcards.evaluation)
    ]


rule assign_slices:
    """Find the images of each slice of an evaluation: of a scene, an object, or a value in a column of the user.

    output: captionlab.evaluation.schemas.SLICED_IMAGES. Slices by length are none of images, but of captions
    """
    input:
        images=evaluated_images,
        scene=labels_for_slices("scene", "scene_captions"),
        object=labels_for_slices("object", "objects"),
        files=slice_files,
    output:
        "results/slices/{evaluation}.parquet",
    log:
        "results/logs/assign_slices/{evaluation}.log",
    conda:
        "../../envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=graph.memory(2000, object=3),
        runtime=30,
    params:
        **graph.software("assign_slices"),
        corpora=evaluated_corpora,
        splits=evaluation_splits,
        by=lambda wildcards: sliced_by(wildcards.evaluation),
    message:
        "find the images of each slice of {wildcards.evaluation}"
    script:
        "../scripts/assign_slices.py"


def scores_of_sliced_evaluations():
    """Return the tables with scores of evaluations that have slices, by the name of the metric."""
    sliced = sliced_evaluations()
    tables = {
        table: [path for path in files if paths.captioner_of(path)[1] in sliced]
        for table, files in graph.score_tables().items()
    }
    return {table: files for table, files in tables.items() if files}


def sliced_captions(wildcards):
    """Return the captions that are scored in evaluations with slices."""
    return [path for path in scored_captions(wildcards) if paths.captioner_of(path)[1] in sliced_evaluations()]


rule measure_slices:
    """Compute every metric on each slice, with intervals, and its difference to the rest of the images.

    output: captionlab.evaluation.schemas.SLICES
    """
    input:
        unpack(lambda wildcards: scores_of_sliced_evaluations()),
        captions=sliced_captions,
        members=lambda wildcards: [f"results/slices/{name}.parquet" for name in sliced_evaluations()],
    output:
        "results/reporting/slices.parquet",
    log:
        "results/logs/measure_slices.log",
    conda:
        "../../envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=8000,
        runtime=120,
    params:
        **graph.software(
            "measure_slices",
            "numpy",
            "scipy",
            loads=lambda wildcards: dict.fromkeys(graph.modules("evaluation.metrics", *scores_of_sliced_evaluations()), ()),
        ),
        evaluations=lambda wildcards: {name: evaluation_contexts()[name] for name in sliced_evaluations()},
        by=lambda wildcards: {name: sliced_by(name) for name in sliced_evaluations()},
        factors=lambda wildcards: graph.score_factors(),
        bounds=lambda wildcards: graph.score_bounds(),
        seed=settings.seed,
    message:
        "compute every metric on each slice"
    script:
        "../scripts/measure_slices.py"


rule collect_slices:
    """Write the values of slices into one table, if an evaluation has `slices`.

    tables: by captioner, corpus and metric, the slices with the worst values, with interval and n, and their
        differences to the rest of the images with p-values; the CSV has all slices
    """
    input:
        slices="results/reporting/slices.parquet",
    output:
        tables=multiext("results/reporting/slices", ".csv", ".md", ".html"),
    log:
        "results/logs/collect_slices.log",
    conda:
        "../../envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=10,
    params:
        **graph.software("collect_slices"),
        provenance=lambda wildcards: graph.provenance(),
    message:
        "write the values of slices into one table"
    script:
        "../scripts/collect_slices.py"
