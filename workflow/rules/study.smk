"""Study: do captions let people find an image among look-alikes?

Needs: the captions of an evaluation with human captions among them, the features of its images, and, once people took
part, their files of answers.
Makes: results/study/{stimuli.parquet,web/,psychopy/,review.html}; from answers of people or of simulated participants
results/study/{participants}/{answers,participants,accuracy,pairwise,agreement}.parquet
"""


rule sample_stimuli:
    input:
        **lab.study.seen(lab.study.encoder),
        images=lab.study.table("images"),
        captions=lab.study.captions(),
        exclude=lab.study.data("exclude"),
    output:
        "results/study/stimuli.parquet",
        provenance="results/provenance/sample_stimuli.json",
    log:
        "results/logs/sample_stimuli.log",
    conda:
        "../../envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=graph.memory(4000, features=2.5),
        runtime=60,
        gpu=1,
    params:
        **graph.software("sample_stimuli", "numpy", "torch", loads=lab.study.loaded(lab.study.encoder)),
        config=lab.study.block(),
        corpus=lab.study.corpus(),
        split=lab.study.split(),
        captioners=lab.study.captioners(),
        people=lab.study.people(),
        seed=settings.seed,
    message:
        "choose the sets of images of the study"
    script:
        "../scripts/sample_stimuli.py"


rule build_study:
    input:
        stimuli="results/study/stimuli.parquet",
        images=lab.study.table("images"),
        exclude=lab.study.data("exclude"),
        consent=lab.study.data("consent") or [graph.shipped("resources/study/consent.txt")],
        page=graph.shipped("resources/study/page.html"),
        review=graph.shipped("resources/study/review.html"),
        experiment=graph.shipped("resources/study/study.psyexp"),
    output:
        web=directory("results/study/web"),
        psychopy=directory("results/study/psychopy"),
        review="results/study/review.html",
        provenance="results/provenance/build_study.json",
    log:
        "results/logs/build_study.log",
    conda:
        "../../envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=graph.memory(2000, images=2),
        runtime=60,
    params:
        **graph.software("build_study", "pillow"),
        post=lab.study.config.get("post"),
    message:
        "build the web page and the PsychoPy experiment of the study"
    script:
        "../scripts/build_study.py"


rule simulate_responses:
    input:
        **lab.study.seen(lab.study.simulating),
        stimuli="results/study/stimuli.parquet",
    output:
        "results/study/simulated/responses.csv",
        provenance="results/provenance/simulate_responses.json",
    log:
        "results/logs/simulate_responses.log",
    conda:
        "../../envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=graph.memory(4000, features=2.5),
        runtime=60,
        gpu=1,
    params:
        **graph.software("simulate_responses", "numpy", "torch", loads=lab.study.loaded(lab.study.simulating)),
        participants=lab.study.number_simulated,
        seed=settings.seed,
    message:
        "let simulated participants, driven by a retriever, take part in the study"
    script:
        "../scripts/simulate_responses.py"


rule analyse_responses:
    input:
        stimuli="results/study/stimuli.parquet",
        responses=lab.study.responses,
    output:
        answers="results/study/{participants}/answers.parquet",
        participants="results/study/{participants}/participants.parquet",
        accuracy="results/study/{participants}/accuracy.parquet",
        pairwise="results/study/{participants}/pairwise.parquet",
        agreement="results/study/{participants}/agreement.parquet",
        provenance="results/provenance/analyse_responses/{participants}.json",
    log:
        "results/logs/analyse_responses/{participants}.log",
    wildcard_constraints:
        participants="people|simulated",
    conda:
        "../../envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=30,
    params:
        **graph.software("analyse_responses", "numpy", "scipy"),
        seed=settings.seed,
    message:
        "analyse the answers of {wildcards.participants} participants"
    script:
        "../scripts/analyse_responses.py"
