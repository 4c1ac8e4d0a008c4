"""Study: do captions let people find an image among look-alikes?

Needs: the captions of an evaluation with human captions among them, the features of its images, and, once people took
part, their files of answers.
"""


def study_images(wildcards):
    """Return the images of the corpus of the study."""
    return f"results/corpora/{settings.study.corpus}/images.parquet"


def study_captions(wildcards):
    """Return the captions of each captioner of the study."""
    return [f"results/captions/{name}/{settings.study.evaluation}.parquet" for name in settings.study.captioners]


def excluded_images(wildcards):
    """Return the file of ids of images that nobody is shown, if the config names one."""
    return [graph.given(settings.study.exclude)] if settings.study.exclude else []


def human_captioner(wildcards):
    """Return the captioner of the study with human captions, which the controls show."""
    return next(name for name in settings.study.captioners if settings.captioners[name].family == "human")


rule sample_stimuli:
    """Choose the sets of images of the study, and the captions above them.

    output: captionlab.study.schemas.STIMULI
    """
    input:
        config=lambda wildcards: f"results/encoders/{settings.study.encoder}/config.json",
        weights=lambda wildcards: f"results/encoders/{settings.study.encoder}/model.safetensors",
        features=lambda wildcards: graph.features_of(settings.study.encoder, settings.study.corpus),
        images=study_images,
        captions=study_captions,
        exclude=excluded_images,
    output:
        "results/study/stimuli.parquet",
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
        **graph.software(
            "sample_stimuli",
            "numpy",
            "torch",
            loads=lambda wildcards: graph.modules("encoders", settings.study.encoder),
        ),
        config=lambda wildcards: graph.block("study", only=["block", "controls", "max_similarity", "sets"]),
        corpus=lambda wildcards: settings.study.corpus,
        split=lambda wildcards: settings.corpora[settings.study.corpus].evaluation_split,
        captioners=lambda wildcards: settings.study.captioners,
        people=human_captioner,
        seed=settings.seed,
    message:
        "choose the sets of images of the study"
    script:
        "../scripts/sample_stimuli.py"


def consent_text(wildcards):
    """Return the text that participants agree to: a file of the config, or the text that comes with the workflow."""
    given = settings.study.consent
    return graph.given(given) if given else own(f"{ROOT}/resources/study/consent.txt")


def image_origin(wildcards):
    """Return where the images of the study come from, by the reader of their corpus: a key of ORIGINS of its pages."""
    reader = settings.corpora[settings.study.corpus].reader
    if reader == "toyworld":
        return "rendered"
    return "published" if graph.facts("corpora.readers", reader).published else "own"


rule build_study:
    """Build the study for people to take part in.

    web: the study as a page for any static server: `index.html`, with the optional parameters
        `?participant=CODE&block=N`, and images
    psychopy: the study for PsychoPy Builder and Pavlovia: `study.psyexp`, a file of conditions for each block, and
        images
    review: a page with every set of images, to look through before anybody is shown them. The page gives the
        exclusion list
    """
    input:
        stimuli="results/study/stimuli.parquet",
        images=study_images,
        exclude=excluded_images,
        consent=consent_text,
        page=own(f"{ROOT}/resources/study/page.html"),
        review=own(f"{ROOT}/resources/study/review.html"),
        experiment=own(f"{ROOT}/resources/study/study.psyexp"),
    output:
        web=directory("results/study/web"),
        psychopy=directory("results/study/psychopy"),
        review="results/study/review.html",
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
        post=lambda wildcards: settings.study.post,
        origin=image_origin,
        corpus=lambda wildcards: settings.study.corpus,
    message:
        "build the web page and the PsychoPy experiment of the study"
    script:
        "../scripts/build_study.py"


def simulating_retriever(wildcards):
    """Return the retriever that answers in place of people."""
    return settings.study.simulated.retriever


rule simulate_responses:
    """Let simulated participants take part in the study.

    output: answers of participants that a retriever drives, in the form of the files that the page of the study gives
    """
    input:
        config=lambda wildcards: f"results/encoders/{simulating_retriever(wildcards)}/config.json",
        weights=lambda wildcards: f"results/encoders/{simulating_retriever(wildcards)}/model.safetensors",
        features=lambda wildcards: graph.features_of(simulating_retriever(wildcards), settings.study.corpus),
        stimuli="results/study/stimuli.parquet",
    output:
        "results/study/simulated/responses.csv",
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
        **graph.software(
            "simulate_responses",
            "numpy",
            "torch",
            loads=lambda wildcards: graph.modules("encoders", simulating_retriever(wildcards)),
        ),
        participants=lambda wildcards: settings.study.simulated.participants,
        seed=settings.seed,
    message:
        "let simulated participants, driven by a retriever, take part in the study"
    script:
        "../scripts/simulate_responses.py"


def responses(wildcards):
    """Return the files of answers: of simulated participants, or of people as the config names them."""
    if wildcards.participants == "simulated":
        return ["results/study/simulated/responses.csv"]
    return [graph.given(path) for path in settings.study.responses]


rule analyse_responses:
    """Analyse the answers of people or of simulated participants.

    answers: captionlab.study.schemas.ANSWERS
    participants: captionlab.study.schemas.PARTICIPANTS
    accuracy: captionlab.study.schemas.ACCURACY
    pairwise: captionlab.study.schemas.PAIRWISE
    agreement: captionlab.study.schemas.AGREEMENT
    """
    input:
        stimuli="results/study/stimuli.parquet",
        responses=responses,
    output:
        answers="results/study/{participants}/answers.parquet",
        participants="results/study/{participants}/participants.parquet",
        accuracy="results/study/{participants}/accuracy.parquet",
        pairwise="results/study/{participants}/pairwise.parquet",
        agreement="results/study/{participants}/agreement.parquet",
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


def study_results():
    """Return the pages, the experiment and the review of the study, if the config has one."""
    return ["results/study/web", "results/study/psychopy", "results/study/review.html"] if settings.study else []
