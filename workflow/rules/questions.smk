"""Questions about images, which captions answer: a metric of evaluations and a reward of trainings.

Needs: published files of questions (nothing for the toy world, which writes its own) and the corpora of their images.
"""


def question_files(wildcards):
    """Return the published files of a set of questions; none if the toy world writes them."""
    keys = graph.facts("questions.readers", settings.questions[wildcards.questions].reader).files
    return graph.files_of("questions", wildcards.questions, *keys)


rule read_questions:
    """Read questions about the images of a corpus, with their answers.

    output: captionlab.questions.schemas.QUESTIONS
    """
    input:
        files=question_files,
        images="results/corpora/{corpus}/images.parquet",
        objects="results/corpora/{corpus}/objects.parquet",
        scene_captions="results/corpora/{corpus}/scene_captions.parquet",
    output:
        "results/questions/{questions}/{corpus}.parquet",
    log:
        "results/logs/read_questions/{questions}/{corpus}.log",
    wildcard_constraints:
        questions=any_of(settings.questions),
    conda:
        "../../envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=graph.memory(4000, files=10),
        runtime=60,
    params:
        **graph.software(
            "read_questions",
            loads=lambda wildcards: graph.modules("questions.readers", settings.questions[wildcards.questions].reader),
        ),
        config=lambda wildcards: graph.block("questions", wildcards.questions, "corpora", "answerer"),
        data=settings.data,
    message:
        "read the questions {wildcards.questions} about the images of {wildcards.corpus}"
    script:
        "../scripts/read_questions.py"
