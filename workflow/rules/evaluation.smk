"""Evaluation: captions against references and against other images.

Needs: results/captions/{captioner}/{evaluation}.parquet, the corpora, and the retrievers with their features; for
judged captions, how often each was judged.
"""


rule tokenize_references:
    """Tokenise the references of the evaluation split of a corpus.

    output: captionlab.storage.schemas.TOKENS
    """
    input:
        images="results/corpora/{corpus}/images.parquet",
        captions="results/corpora/{corpus}/captions.parquet",
    output:
        "results/evaluation/references/{corpus}.parquet",
    log:
        "results/logs/tokenize_references/{corpus}.log",
    conda:
        "../../envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=4000,
        runtime=30,
    params:
        **graph.software(
            "tokenize_references", loads=lambda wildcards: graph.modules("evaluation.tokenizers", wildcards.corpus)
        ),
        tokenizers=lambda wildcards: graph.tokenizers(wildcards.corpus),
        split=lambda wildcards: settings.corpora[wildcards.corpus].evaluation_split,
    message:
        "tokenize the references of {wildcards.corpus}"
    script:
        "../scripts/tokenize_references.py"


rule tokenize_captions:
    """Tokenise the captions of a captioner for an evaluation.

    output: captionlab.storage.schemas.TOKENS
    """
    input:
        "results/captions/{captioner}/{evaluation}.parquet",
    output:
        "results/evaluation/{captioner}/{evaluation}/tokens.parquet",
    log:
        "results/logs/tokenize_captions/{captioner}/{evaluation}.log",
    conda:
        "../../envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=4000,
        runtime=30,
    params:
        **graph.software(
            "tokenize_captions",
            loads=lambda wildcards: graph.modules("evaluation.tokenizers", *evaluated_corpora(wildcards)),
        ),
        tokenizers=lambda wildcards: graph.tokenizers(*evaluated_corpora(wildcards)),
    message:
        "tokenize the captions of {wildcards.captioner} for {wildcards.evaluation}"
    script:
        "../scripts/tokenize_captions.py"


def corpora_with_references(wildcards):
    """Return the corpora of an evaluation whose images have captions to compare others with."""
    return [corpus for corpus in evaluated_corpora(wildcards) if has_captions(corpus)]


def references(wildcards):
    """Return the tokenised references of each corpus of an evaluation that has some."""
    return [f"results/evaluation/references/{corpus}.parquet" for corpus in corpora_with_references(wildcards)]


def english_corpora(wildcards):
    """Return the corpora of an evaluation whose images have captions in English, by the Penn treebank tokeniser."""
    return [corpus for corpus in corpora_with_references(wildcards) if not graph.tokenizers(corpus)]


def compared_captioners(wildcards):
    """Return the captioners (or the set of judgements) whose captions an evaluation compares with references."""
    without = ("human", "constructed")
    captioners = sorted(settings.evaluations[wildcards.evaluation].captioners)
    return [captioner for captioner in captioners if graph.root_of(captioner).family not in without]


def compared_tokens(wildcards):
    """Return the tokens of captions that an evaluation compares with references, by captioner."""
    captioners = compared_captioners(wildcards)
    return [f"results/evaluation/{captioner}/{wildcards.evaluation}/tokens.parquet" for captioner in captioners]


def judged_captions(wildcards):
    """Return the judged captions, if the evaluation is a set of judgements."""
    is_judged = wildcards.evaluation in settings.judgements
    return [f"results/judgements/{wildcards.evaluation}/candidates.parquet"] if is_judged else []


rule score_nlg:
    """Score the captions of all captioners of an evaluation by BLEU, METEOR, ROUGE-L and CIDEr.

    output: captionlab.evaluation.metrics.nlg.metric.NLG
    """
    input:
        tokens=compared_tokens,
        references=references,
        judged=judged_captions,
    output:
        "results/evaluation/nlg/{evaluation}.parquet",
    log:
        "results/logs/score_nlg/{evaluation}.log",
    conda:
        "../../envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=graph.memory(3000, references=400),  # BLEU's n-grams are objects of Python
        runtime=120,
    params:
        **graph.software("score_nlg", "pycocoevalcap"),
        captioners=compared_captioners,
        corpora=corpora_with_references,
        english=english_corpora,
        references_per_image=lambda wildcards: settings.evaluations[wildcards.evaluation].references_per_image,
    message:
        "score the captions of {wildcards.evaluation} by BLEU, METEOR, ROUGE-L and CIDEr"
    script:
        "../scripts/score_nlg.py"


rule fetch_spice_models:
    """Fetch the parser models of SPICE.

    output: parser models of SPICE, 369 MB
    """
    input:
        pom=own(f"{ROOT}/envs/spice/pom.xml"),
        checksums=own(f"{ROOT}/envs/spice/checksums.sha256"),
    output:
        directory("results/spice/models"),
    log:
        "results/logs/fetch_spice_models.log",
    conda:
        "../../envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=60,
    params:
        **graph.software("fetch_spice_models"),
        required=settings.spice == "required",
    message:
        "fetch the parser models of SPICE, 369 MB unless they are on this machine (--config spice=off runs without)"
    script:
        "../scripts/fetch_spice_models.py"


rule parse_references:
    """Parse the references of a corpus by SPICE's parser.

    output: captionlab.evaluation.metrics.spice.metric.PARSES
    """
    input:
        models="results/spice/models",
        references="results/evaluation/references/{corpus}.parquet",
    output:
        "results/spice/parses/{corpus}.parquet",
    log:
        "results/logs/parse_references/{corpus}.log",
    conda:
        "../../envs/captionlab.yaml"
    threads: 8
    resources:
        mem_mb=lambda wildcards, threads: 3000 + 500 * threads,  # a parser for each thread
        runtime=240,
    params:
        **graph.software("parse_references", "pycocoevalcap"),
    message:
        "parse the references of {wildcards.corpus} for SPICE, perhaps for minutes (--config spice=off runs without)"
    script:
        "../scripts/parse_references.py"


rule score_spice:
    """Score the captions of a captioner for an evaluation by SPICE.

    output: captionlab.evaluation.metrics.spice.metric.SPICE
    """
    input:
        models="results/spice/models",
        tokens="results/evaluation/{captioner}/{evaluation}/tokens.parquet",
        references=lambda wildcards: [
            f"results/evaluation/references/{corpus}.parquet" for corpus in english_corpora(wildcards)
        ],
        parses=lambda wildcards: [f"results/spice/parses/{corpus}.parquet" for corpus in english_corpora(wildcards)],
    output:
        "results/evaluation/{captioner}/{evaluation}/spice.parquet",
    log:
        "results/logs/score_spice/{captioner}/{evaluation}.log",
    conda:
        "../../envs/captionlab.yaml"
    threads: 2
    resources:
        mem_mb=lambda wildcards, threads: 3000 + 500 * threads,  # a parser for each thread
        runtime=240,
    params:
        **graph.software("score_spice", "pycocoevalcap"),
        corpora=english_corpora,
        references_per_image=lambda wildcards: settings.evaluations[wildcards.evaluation].references_per_image,
    message:
        "score the captions of {wildcards.captioner} for {wildcards.evaluation} by SPICE"
    script:
        "../scripts/score_spice.py"


def retrievers(wildcards):
    """Return the retrievers of an evaluation."""
    return settings.evaluations[wildcards.evaluation].retrievers


def retriever_features(wildcards):
    """Return the features of each corpus of an evaluation by each retriever."""
    corpora = evaluated_corpora(wildcards)
    return [path for one in retrievers(wildcards) for corpus in corpora for path in graph.features_of(one, corpus)]


def candidates(wildcards):
    """Return the number and the source of the candidates of retrieval, and the bags of look-alikes, if any."""
    evaluation = settings.evaluations[wildcards.evaluation]
    bags = graph.block("evaluations", wildcards.evaluation, only=["bags"])
    return {"candidate_sets": evaluation.candidate_sets, "candidates": evaluation.candidates, **bags}


def bag_features_of_evaluation(wildcards):
    """Return the features of each corpus of an evaluation by which its images are look-alikes, if it has bags."""
    if not (bags := settings.evaluations[wildcards.evaluation].bags):
        return []
    return [path for corpus in evaluated_corpora(wildcards) for path in graph.features_of(bags.encoder, corpus)]


def candidates_seed(wildcards):
    """Return the seed of candidates that are drawn; 0 if none are drawn, so that no other seed matters."""
    return settings.seed if candidates(wildcards)["candidate_sets"] == "random" else 0


rule retrieve_images:
    """Find the image of each caption among candidates, by each retriever of an evaluation.

    output: captionlab.storage.schemas.RETRIEVAL
    """
    input:
        captions="results/captions/{captioner}/{evaluation}.parquet",
        images=evaluated_images,
        configs=lambda wildcards: [f"results/encoders/{one}/config.json" for one in retrievers(wildcards)],
        weights=lambda wildcards: [f"results/encoders/{one}/model.safetensors" for one in retrievers(wildcards)],
        features=retriever_features,
        bag_features=bag_features_of_evaluation,
    output:
        "results/evaluation/{captioner}/{evaluation}/retrieval.parquet",
    log:
        "results/logs/retrieve_images/{captioner}/{evaluation}.log",
    conda:
        "../../envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=graph.memory(8000, features=2.5, bag_features=2.5),
        runtime=120,
        gpu=1,
    params:
        **graph.software(
            "retrieve_images",
            "numpy",
            "torch",
            loads=lambda wildcards: graph.modules("encoders", *retrievers(wildcards)),
        ),
        config=candidates,
        corpora=evaluated_corpora,
        splits=evaluation_splits,
        retrievers=retrievers,
        seed=candidates_seed,
    message:
        "find the images of {wildcards.evaluation} by the captions of {wildcards.captioner}"
    script:
        "../scripts/retrieve_images.py"


def command_references(wildcards):
    """Return the captions of each corpus of an evaluation, if the command reads references."""
    return evaluated_captions(wildcards) if settings.metrics[wildcards.metric].references else []


def command_settings(wildcards):
    """Return the parameters of the scores of a command, beside files."""
    metric = settings.metrics[wildcards.metric]
    return {"command": metric.command, "version": metric.version, "references": metric.references}


rule score_by_command:
    """Score the captions of a captioner for an evaluation by a command of `metrics`.

    output: captionlab.evaluation.metrics.command.metric.SCORES
    """
    input:
        captions="results/captions/{captioner}/{evaluation}.parquet",
        images_of_corpora=evaluated_images,
        captions_of_corpora=command_references,
        files=lambda wildcards: graph.command(wildcards.metric).files,
        environment=lambda wildcards: graph.command(wildcards.metric).environment,
    output:
        "results/evaluation/{captioner}/{evaluation}/command-{metric}.parquet",
    log:
        "results/logs/score_by_command/{captioner}/{evaluation}/{metric}.log",
    conda:
        "../../envs/captionlab.yaml"
    threads: 2
    resources:
        mem_mb=lambda wildcards: settings.metrics[wildcards.metric].mem_mb,
        runtime=lambda wildcards: 60 + settings.metrics[wildcards.metric].time_limit,  # an environment may be made first
        time_limit=lambda wildcards: settings.metrics[wildcards.metric].time_limit,
        gpu=lambda wildcards: settings.metrics[wildcards.metric].gpu,
    params:
        **graph.software("score_by_command"),
        corpora=evaluated_corpora,
        splits=evaluation_splits,
        references_per_image=lambda wildcards: settings.evaluations[wildcards.evaluation].references_per_image,
        people=is_human,
        settings=command_settings,
        files=lambda wildcards: graph.command(wildcards.metric).words,
    message:
        "score the captions of {wildcards.captioner} for {wildcards.evaluation} by {wildcards.metric}"
    script:
        "../scripts/score_by_command.py"


def judge_references(wildcards):
    """Return the captions of each corpus of an evaluation, if the judge reads references."""
    return evaluated_captions(wildcards) if settings.judges[wildcards.judge].reads_references else []


rule score_by_judge:
    """Score the captions of a captioner for an evaluation by a judge of `judges`, a model behind a server.

    output: captionlab.evaluation.metrics.judge.metric.SCORES
    """
    input:
        captions="results/captions/{captioner}/{evaluation}.parquet",
        images_of_corpora=evaluated_images,
        captions_of_corpora=judge_references,
        template=lambda wildcards: graph.files_of("judges", wildcards.judge, "template"),
    output:
        "results/evaluation/{captioner}/{evaluation}/judge-{judge}.parquet",
    log:
        "results/logs/score_by_judge/{captioner}/{evaluation}/{judge}.log",
    conda:
        "../../envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=8000,
        runtime=480,
    params:
        **graph.software("score_by_judge", "pillow", "jinja2", "jsonschema"),
        corpora=evaluated_corpora,
        splits=evaluation_splits,
        references_per_image=lambda wildcards: settings.evaluations[wildcards.evaluation].references_per_image,
        people=is_human,
        settings=lambda wildcards: graph.block("judges", wildcards.judge, "template"),
    message:
        "ask the judge {wildcards.judge} about the captions of {wildcards.captioner} for {wildcards.evaluation}"
    script:
        "../scripts/score_by_judge.py"


def metric_encoders(wildcards):
    """Return the encoders that a metric reads."""
    evaluation, facts = settings.evaluations[wildcards.evaluation], graph.metrics()[wildcards.table]
    asked = [getattr(evaluation, key, []) for key in facts.asks] if "encoders" in facts.reads else []
    return list(dict.fromkeys(chain(*asked)))


def categories(wildcards):
    """Return the file of object categories of an evaluation, which the workflow ships or the config names."""
    name = getattr(settings.evaluations[wildcards.evaluation], "objects", None)
    if name is None:
        return []
    return [own(ROOT / paths.CATEGORIES[name]) if name in paths.CATEGORIES else graph.given(name)]


def question_sets(wildcards):
    """Return the sets of questions that a metric asks, each with its corpora in the evaluation and its answerer.

    The images of a set of judgements have the questions of the corpus that they are from.
    """
    evaluation, facts = settings.evaluations[wildcards.evaluation], graph.metrics()[wildcards.table]
    judged = settings.judgements.get(wildcards.evaluation)
    sets = {}
    for name in getattr(evaluation, "questions", []) if "questions" in facts.reads else []:
        there = settings.questions[name].corpora
        corpora = [corpus for corpus in evaluation.corpora if (judged.corpus if judged else corpus) in there]
        sets[name] = {"corpora": corpora, "answerer": graph.block("questions", name, only=["answerer"])["answerer"]}
    return sets


def question_tables(wildcards):
    """Return the questions of each set about the images of each of its corpora in the evaluation."""
    judged = settings.judgements.get(wildcards.evaluation)
    return [
        f"results/questions/{name}/{judged.corpus if judged else corpus}.parquet"
        for name, asked in question_sets(wildcards).items()
        for corpus in asked["corpora"]
    ]


def scoring_inputs(wildcards):
    """Return captions, and the tables that the facts of a metric name (captionlab.evaluation.inputs)."""
    captioner, evaluation = wildcards.captioner, wildcards.evaluation
    corpora, learned, encoders = (
        evaluated_corpora(wildcards),
        learned_corpora(captioner),
        metric_encoders(wildcards),
    )
    every = {
        "tokens": {"tokens": f"results/evaluation/{captioner}/{evaluation}/tokens.parquet"},
        "references": {"references": [f"results/evaluation/references/{corpus}.parquet" for corpus in corpora]},
        "texts": {
            "images_of_corpora": evaluated_images(wildcards),
            "captions_of_corpora": evaluated_captions(wildcards),
        },
        "objects": {"objects": [f"results/corpora/{corpus}/objects.parquet" for corpus in corpora]},
        "training": {
            "training_images": [f"results/corpora/{corpus}/images.parquet" for corpus in learned],
            "training_captions": [f"results/corpora/{corpus}/captions.parquet" for corpus in learned],
        },
        "tags": {"tags": f"results/language/{captioner}/{evaluation}/tags.parquet"},
        "reference_tags": {"reference_tags": [f"results/language/references/{corpus}.parquet" for corpus in corpora]},
        "categories": {"categories": categories(wildcards)},
        "encoders": {
            "configs": [f"results/encoders/{encoder}/config.json" for encoder in encoders],
            "weights": [f"results/encoders/{encoder}/model.safetensors" for encoder in encoders],
            "features": [path for one in encoders for corpus in corpora for path in graph.features_of(one, corpus)],
        },
        "questions": {"questions": question_tables(wildcards)},
        "languages": {},
        "tokenizers": {},
    }
    found = {"captions": f"results/captions/{captioner}/{evaluation}.parquet"}
    facts = graph.metrics()[wildcards.table]
    for name in facts.reads:
        found |= every[name]
    return found | {key: graph.given(path) for key, path in metric_values(wildcards, facts.files)}


def metric_values(wildcards, keys):
    """Return the keys, of these, that the block of a metric in an evaluation has, each with its value."""
    evaluation, asks = graph.block("evaluations", wildcards.evaluation), graph.metrics()[wildcards.table].asks
    blocks = [evaluation[key] for key in asks if key in evaluation]
    return [(key, block[key]) for block in blocks for key in keys if key in block]


def metric_modules(wildcards):
    """Return the modules of a metric with its libraries, of the encoders that it asks, of answerers of questions, and of
    tokenisers, if the metric reads them."""
    others = metric_tokenizers(wildcards)
    encoders = graph.modules("encoders", *metric_encoders(wildcards))
    answerers = {asked["answerer"]["kind"] for asked in question_sets(wildcards).values()}
    packages = [name for _, name in metric_values(wildcards, graph.metrics()[wildcards.table].packages)]
    modules = graph.modules("evaluation.metrics", wildcards.table)
    return {
        **{module: [*libraries, *packages] for module, libraries in modules.items()},
        **encoders,
        **graph.modules("questions.answerers", *answerers),
        **(graph.modules("evaluation.tokenizers", *others) if others else {}),
    }


def metric_settings(wildcards):
    """Return the keys of an evaluation that ask for a metric. Sets of questions come with what they depend on."""
    evaluation, written = settings.evaluations[wildcards.evaluation], graph.block("evaluations", wildcards.evaluation)
    asks = sorted(graph.metrics()[wildcards.table].asks)
    asked = {key: written.get(key, getattr(evaluation, key, None)) for key in asks}
    return {**asked, "questions": question_sets(wildcards)} if "questions" in asked else asked


def metric_tokenizers(wildcards):
    """Return the tokenisers of corpora in other languages than English, if the metric reads them."""
    reads = "tokenizers" in graph.metrics()[wildcards.table].reads
    return graph.tokenizers(*evaluated_corpora(wildcards)) if reads else {}


def metric_languages(wildcards):
    """Return the languages of corpora in other languages than English, if the metric reads them."""
    reads = "languages" in graph.metrics()[wildcards.table].reads
    return graph.languages(*evaluated_corpora(wildcards)) if reads else {}


def scoring_memory(wildcards, input, attempt):
    """Return the memory of a metric, MB. Captions in training become objects of Python, three times."""
    factors = {"features": 2.5, "training_captions": 20.0, "training_images": 4.0}
    there = {name: factor for name, factor in factors.items() if name in input.keys()}
    return graph.memory(graph.metrics()[wildcards.table].mem_mb, **there)(wildcards, input, attempt)


rule score_captions:
    """Score the captions of a captioner for an evaluation by a metric without a rule of its own.

    {table}: captionlab.evaluation.metrics.{table}.metric.SCORES
    """
    input:
        unpack(scoring_inputs),
    output:
        "results/evaluation/{captioner}/{evaluation}/{table}.parquet",
    log:
        "results/logs/score_captions/{captioner}/{evaluation}/{table}.log",
    wildcard_constraints:
        table=any_of(table for table, facts in graph.metrics().items() if facts.reads),
    conda:
        "../../envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=scoring_memory,
        runtime=lambda wildcards: graph.metrics()[wildcards.table].runtime,
        gpu=lambda wildcards: graph.metrics()[wildcards.table].gpu,
    params:
        **graph.software("score_captions", loads=metric_modules),
        module=lambda wildcards: next(iter(metric_modules(wildcards))),
        corpora=evaluated_corpora,
        people=is_human,
        splits=evaluation_splits,
        references_per_image=lambda wildcards: settings.evaluations[wildcards.evaluation].references_per_image,
        settings=metric_settings,
        languages=metric_languages,
        tokenizers=metric_tokenizers,
    message:
        "score the captions of {wildcards.captioner} for {wildcards.evaluation} by {wildcards.table}"
    script:
        "../scripts/score_captions.py"
