"""Reporting: values with intervals, the papers' tables and figures, their claims, and the folder that holds all tables.

Needs: every table of the run that the config's papers ask for; their published numbers and claims are in their folders.
"""

import re


def humans(wildcards):
    """Return the captioners whose captions are references."""
    return sorted(name for name, block in settings.captioners.items() if getattr(block, "family", None) == "human")


def undescribed_corpora(wildcards):
    """Return the corpora of evaluations whose images have no captions."""
    corpora = {corpus for evaluation in settings.evaluations.values() for corpus in evaluation.corpora}
    return sorted(corpus for corpus in corpora if not has_captions(corpus))


def scored_captions(wildcards):
    """Return the captions that any metric scores."""
    places = {place for table in graph.metrics() for place in graph.scored_by(table)}
    return [f"results/captions/{captioner}/{evaluation}.parquet" for captioner, evaluation in sorted(places)]


def compared_pairs(wildcards):
    """Return the pairs of captioners that evaluations compare; a name stands for all trainings of its block."""
    block_of = {name: block for block, names in settings.trainings.items() for name in names}
    found = {}
    for name, evaluation in own_evaluations().items():
        pairs = (tuple(block_of.get(captioner, captioner) for captioner in pair) for pair in evaluation.pairs)
        found[name] = [[*pair] for pair in dict.fromkeys(pairs) if pair[0] != pair[1]]
    return found


rule summarise_evaluation:
    """Summarise every evaluation, with intervals.

    summary: captionlab.storage.schemas.SUMMARY. A captioner with several `seeds` also has rows for the mean over its
        trainings
    comparisons: captionlab.storage.schemas.COMPARISONS. Finetuned captioners are compared with their parents, snapshots
        with the end of the finetuning, and the pairs of `compare` with each other
    """
    input:
        unpack(lambda wildcards: graph.score_tables()),
        captions=scored_captions,
    output:
        summary="results/reporting/summary.parquet",
        comparisons="results/reporting/comparisons.parquet",
    log:
        "results/logs/summarise_evaluation.log",
    conda:
        "../../envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=4000,
        runtime=60,
    params:
        **graph.software(
            "summarise_evaluation",
            "numpy",
            "scipy",
            loads=lambda wildcards: dict.fromkeys(graph.modules("evaluation.metrics", *graph.score_tables()), ()),
        ),
        evaluations=lambda wildcards: evaluation_contexts(),
        unreferenced=undescribed_corpora,
        lineage=lambda wildcards: graph.lineage(),
        trainings=lambda wildcards: settings.trainings,
        factors=lambda wildcards: graph.score_factors(),
        bounds=lambda wildcards: graph.score_bounds(),
        ends=lambda wildcards: {name: end for paper in papers.values() for name, end in paper.compared.items()},
        pairs=compared_pairs,
        seed=settings.seed,
    message:
        "summarise every evaluation, with intervals"
    script:
        "../scripts/summarise_evaluation.py"


rule collect_evaluation:
    """Write every metric into one table.

    tables: every captioner, corpus and metric with interval and n, whatever the paper; the CSV also has the differences
        between captioners
    """
    input:
        summary="results/reporting/summary.parquet",
        comparisons="results/reporting/comparisons.parquet",
    output:
        tables=multiext("results/reporting/evaluation", ".csv", ".md", ".html"),
    log:
        "results/logs/collect_evaluation.log",
    conda:
        "../../envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=10,
    params:
        **graph.software("collect_evaluation"),
        humans=humans,
        provenance=lambda wildcards: graph.provenance(),
    message:
        "write every metric into one table"
    script:
        "../scripts/collect_evaluation.py"


rule collect_differences:
    """Write the differences between captioners into one table.

    tables: by corpus, evaluation and pair of captioners, the difference of every metric with interval, p-value and the
        p-value with Holm's correction
    """
    input:
        comparisons="results/reporting/comparisons.parquet",
    output:
        tables=multiext("results/reporting/differences", ".csv", ".md", ".html"),
    log:
        "results/logs/collect_differences.log",
    conda:
        "../../envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=10,
    params:
        **graph.software("collect_differences"),
        provenance=lambda wildcards: graph.provenance(),
    message:
        "write the differences between captioners into one table"
    script:
        "../scripts/collect_differences.py"


rule collect_questions:
    """Write the shares of questions that captions answer into one table, if an evaluation asks questions.

    tables: by set of questions, corpus and evaluation, the share of questions that each captioner's captions answer
        correctly, of all and of each kind, and the share that they do not answer, with intervals and n, and the
        differences of finetuned captioners from their parents
    """
    input:
        summary="results/reporting/summary.parquet",
        comparisons="results/reporting/comparisons.parquet",
    output:
        tables=multiext("results/reporting/questions", ".csv", ".md", ".html"),
    log:
        "results/logs/collect_questions.log",
    conda:
        "../../envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=10,
    params:
        **graph.software("collect_questions"),
        provenance=lambda wildcards: graph.provenance(),
    message:
        "write the shares of questions that captions answer into one table"
    script:
        "../scripts/collect_questions.py"


def reward_tables(wildcards):
    """Return the rewards before and after each training by a reward."""
    return [f"results/captioners/{name}/rewards.parquet" for name in list(graph.rewarded_trainings())]


rule collect_rewards:
    """Write the rewards before and after trainings into one table, if the config has `validity`.

    tables: what each training by a reward did to that reward: greedy captions of training images before and after,
        their mean reward with the interval of the difference, how often they find their image where a retriever is
        asked, how many are different, how long they are
    """
    input:
        rewards=reward_tables,
    output:
        tables=multiext("results/reporting/rewards", ".csv", ".md", ".html"),
    log:
        "results/logs/collect_rewards.log",
    conda:
        "../../envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=10,
    params:
        **graph.software("collect_rewards", "numpy"),
        trainings=lambda wildcards: graph.rewarded_trainings(),
        seed=settings.seed,
        provenance=lambda wildcards: graph.provenance(),
    message:
        "write the rewards before and after trainings into one table"
    script:
        "../scripts/collect_rewards.py"


rule collect_judgements:
    """Write how far metrics agree with judgements into tables.

    tables: how far each metric agrees with each set of `judgements`, whatever the papers: Kendall's tau-b and tau-c
        and Pearson's r with ratings, accuracy on pairs of captions by category, with intervals and n
    differences: paired differences between every two metrics on each set, with intervals, and p-values with Holm's
        correction for all pairs of metrics
    slices: how far each metric agrees with ratings of captions of one length, or of one source, with intervals and n
    """
    input:
        correlations=lambda wildcards: [
            f"results/judgements/{name}/correlations.parquet" for name in settings.judgements
        ],
        differences=lambda wildcards: [f"results/judgements/{name}/differences.parquet" for name in settings.judgements],
        slices=lambda wildcards: [f"results/judgements/{name}/slices.parquet" for name in settings.judgements],
    output:
        tables=multiext("results/reporting/judgements", ".csv", ".md", ".html"),
        differences=multiext("results/reporting/judgement_differences", ".csv", ".md", ".html"),
        slices=multiext("results/reporting/judgement_slices", ".csv", ".md", ".html"),
    log:
        "results/logs/collect_judgements.log",
    conda:
        "../../envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=10,
    params:
        **graph.software("collect_judgements"),
        judgements=list(settings.judgements),
        simulated=lambda wildcards: [
            name
            for name, judged in settings.judgements.items()
            if graph.facts("judgements.readers", judged.reader).simulated
        ],
        provenance=lambda wildcards: graph.provenance(),
    message:
        "write how far metrics agree with those who judged captions into tables"
    script:
        "../scripts/collect_judgements.py"


rule collect_comparisons:
    """Write the rankings of captioners by pairwise preferences into one table.

    tables: each captioner of each of the `comparisons`: its strength, its win rates against the others, and how the
        model that compares answers, with intervals and n
    """
    input:
        rankings=[f"results/comparisons/{name}/rankings.parquet" for name in settings.comparisons],
    output:
        tables=multiext("results/reporting/comparisons", ".csv", ".md", ".html"),
    log:
        "results/logs/collect_comparisons.log",
    conda:
        "../../envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=10,
    params:
        **graph.software("collect_comparisons"),
        models={name: block.model for name, block in settings.comparisons.items()},
        provenance=lambda wildcards: graph.provenance(),
    message:
        "write the rankings by pairwise preferences into one table"
    script:
        "../scripts/collect_comparisons.py"


def own_evaluations():
    """Return the evaluations of the config by name; sets of judgements are none."""
    return {name: block for name, block in sorted(settings.evaluations.items()) if name not in settings.judgements}


def captions_of_models(wildcards):
    """Return the captions of captioners that are trained here or come from another run."""
    return [
        f"results/captions/{captioner}/{name}.parquet"
        for name, evaluation in own_evaluations().items()
        for captioner in sorted(evaluation.captioners)
        if any(hasattr(settings.captioners[captioner], key) for key in ("optimizer", "run"))
    ]


def all_references(wildcards):
    """Return the captions of every corpus."""
    names = sorted(settings.corpora.keys() - settings.judgements.keys())
    return [f"results/corpora/{name}/captions.parquet" for name in names]


def objects_of_learned_corpora(wildcards):
    """Return the objects of corpora that captioners learned and are evaluated on."""
    learned = graph.learned_by()
    corpora = {
        learned[captioner]
        for evaluation in own_evaluations().values()
        for captioner in evaluation.captioners
        if learned.get(captioner) in evaluation.corpora
    }
    return [f"results/corpora/{corpus}/objects.parquet" for corpus in sorted(corpora)]


def rewarding_encoders(wildcards):
    """Return the encoders that rewards ask, as retrievers or as scorers."""
    rewards = [reward for captioner in settings.captioners for reward in graph.rewards(captioner)]
    scorers = [settings.scorers[reward["scorer"]] for reward in rewards if "scorer" in reward]
    asked = {reward.get("retriever") for reward in rewards} | {getattr(one, "encoder", None) for one in scorers}
    return sorted(asked - {None})


def toyworld_corpora(wildcards):
    """Return the corpora that the workflow renders."""
    return sorted(name for name, corpus in settings.corpora.items() if corpus.reader == "toyworld")


def toyworld_words(wildcards):
    """Return the files with the words of the toy world, if a corpus is rendered."""
    names = ("objects", "scenes") if toyworld_corpora(wildcards) else ()
    return [own(f"{ROOT}/resources/toyworld/{name}.yaml") for name in names]


rule measure_validity:
    """Measure what must hold for the experiments of a run to mean something, if the config has `validity`.

    tables: conditions, each measured, met or not: retrievers find images by human captions, captioners name what is
        there, trainings raise their reward and leave captions different, participants and scorers beat chance,
        captions have no unknown words, comparisons could tell half of the papers' differences. The index of the
        tables and the report begin with how many are met
    """
    input:
        summary="results/reporting/summary.parquet",
        captions=captions_of_models,
        references=all_references,
        objects=objects_of_learned_corpora,
        matching=lambda wildcards: list(graph.examined_scorers().values()),
        rewards=reward_tables,
        accuracy=lambda wildcards: [f"results/study/{who}/accuracy.parquet" for who in participants()],
        claims=lambda wildcards: ["results/reporting/claims.csv"] if papers_of_config() else [],
        words=toyworld_words,
    output:
        tables=multiext("results/reporting/validity", ".csv", ".md", ".html"),
    log:
        "results/logs/measure_validity.log",
    conda:
        "../../envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=4000,
        runtime=30,
    params:
        **graph.software("measure_validity", "numpy", "scipy"),
        corpus=lambda wildcards: settings.validity.corpus,
        humans=humans,
        rewarding=rewarding_encoders,
        learned=lambda wildcards: graph.learned_by(),
        scorers=lambda wildcards: list(graph.examined_scorers()),
        rewarded=lambda wildcards: {name: training["corpus"] for name, training in graph.rewarded_trainings().items()},
        toyworld=toyworld_corpora,
        study_human=lambda wildcards: human_captioner(wildcards) if settings.study else None,
        seed=settings.seed,
        provenance=lambda wildcards: graph.provenance(),
    message:
        "measure what must hold for the experiments of this run to mean something"
    script:
        "../scripts/measure_validity.py"


LANGUAGE_TABLES = ["statistics", "patterns", "unigrams"]


rule collect_language_tables:
    """Make the tables on the language of the captions of each captioner.

    statistics: fluency, length and nouns
    patterns: patterns of captions
    unigrams: most frequent words
    """
    input:
        statistics=lambda wildcards: [
            f"results/language/{name}/{settings.language.evaluation}/statistics.parquet"
            for name in studied_captioners()
        ],
        patterns=lambda wildcards: [
            f"results/language/{name}/{settings.language.evaluation}/patterns.parquet" for name in studied_captioners()
        ],
        unigrams=lambda wildcards: [
            f"results/language/{name}/{settings.language.evaluation}/unigrams.parquet" for name in studied_captioners()
        ],
    output:
        tables=expand("results/reporting/language/language_{name}.{ending}", name=LANGUAGE_TABLES, ending=FORMATS),
    log:
        "results/logs/collect_language_tables.log",
    conda:
        "../../envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=10,
    params:
        **graph.software("collect_language_tables"),
        captioners=lambda wildcards: studied_captioners(),
        provenance=lambda wildcards: graph.provenance(),
    message:
        "make the tables on language"
    script:
        "../scripts/collect_language_tables.py"


def papers_of_config():
    """Return the papers that the config asks for; others have tables of its study or its analysis of language only."""
    return {name: paper for name, paper in papers.items() if getattr(settings.papers, name)}


def claim_inputs(wildcards):
    """Return the claims, published numbers, table cells and evidence of each paper."""
    inputs = {}
    for name, paper in papers_of_config().items():
        files, _ = paper.evidence()
        folder = place_of("papers", name)
        files = {**files, "claims": own(folder / "claims.yaml"), "published": own(folder / "published.csv")}
        files["cells"] = f"results/reporting/{name}/cells.parquet"
        inputs |= {f"{name}_{file}": path for file, path in files.items()}
    return inputs


def claim_parameters(wildcards):
    """Return the block of each paper in the config, and further parameters of the evidence for its claims."""
    blocks = {name: graph.block("papers", name) for name in papers_of_config()}
    return {name: {**papers[name].evidence()[1], "config": block} for name, block in blocks.items()}


rule check_claims:
    """Judge the papers' claims by this run.

    tables: each claim of a paper, the evidence in this run, a verdict
    page: a card for each claim, counts of verdicts that select claims (a claim may have several verdicts), and links
        from each comparison to the cells of its tables
    effects: captionlab.reporting.claims.effects.EFFECTS
    """
    input:
        unpack(claim_inputs),
        summary="results/reporting/summary.parquet",
    output:
        tables=multiext("results/reporting/claims", ".csv", ".md"),
        page="results/reporting/claims.html",
        effects="results/reporting/effects.parquet",
    log:
        "results/logs/check_claims.log",
    conda:
        "../../envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=10,
    params:
        **graph.software(
            "check_claims",
            "scipy",
            loads=lambda wildcards: {f"{module_of('papers', name)}.evidence": () for name in papers_of_config()},
        ),
        papers=claim_parameters,
        provenance=lambda wildcards: graph.provenance(),
    message:
        "judge the papers' claims by this run"
    script:
        "../scripts/check_claims.py"


def stages(wildcards):
    """Return the stage of each rule: the name of its file, or `reporting` for rules of papers."""
    files = {rule.name: Path(rule.snakefile).resolve() for rule in workflow.rules}
    of_stages = {name: file.stem for name, file in files.items() if file.parent == ROOT / "workflow/rules"}
    folders = [place_of("papers", paper).resolve() for paper in papers]
    of_papers = {name: "reporting" for name, file in files.items() if file.parent in folders}
    return of_stages | of_papers


def are_compared():
    """Return whether an evaluation has captioners to compare."""
    lineage = graph.lineage()
    parents = {name: of.get("parent") for name, of in lineage.items()}
    return any(
        evaluation.pairs or {parents.get(name) for name in evaluation.captioners} & {*evaluation.captioners}
        for evaluation in own_evaluations().values()
    )


def measured_tables():
    """Return the files of all tables with measurements."""
    asked = {
        "evaluation": evaluation_contexts(),
        "differences": are_compared(),
        "slices": sliced_evaluations(),
        "claims": papers_of_config(),
        "reproduction": papers_of_config(),
        "validity": settings.validity,
        "questions": any(getattr(evaluation, "questions", []) for evaluation in own_evaluations().values()),
        "rewards": list(graph.rewarded_trainings()),
        "judgements": settings.judgements,
        "judgement_differences": settings.judgements,
        "judgement_slices": settings.judgements,
        "comparisons": settings.comparisons,
    }
    names = [name for name, block in asked.items() if block]
    names += [f"comparisons_{name}_pairs" for name in settings.comparisons]
    return [
        *(rules.collect_language_tables.output.tables if settings.language else []),
        *expand("results/reporting/{name}.{ending}", name=names, ending=["csv", "md", "html"]),
        *expand("results/reporting/own_{name}.{ending}", name=settings.own_tables, ending=FORMATS),
        *(["results/reporting/make_table.html"] if evaluation_contexts() else []),
        *chain.from_iterable(paper.tables for paper in papers.values()),
    ]


rule collect_cost:
    """Add up what every job cost.

    tables: time, processors, memory and GPU of each rule and stage
    jobs: captionlab.reporting.documents.costs.COSTS
    """
    input:
        measured_tables(),
    output:
        tables=multiext("results/reporting/cost", ".csv", ".md", ".html"),
        jobs="results/cost.parquet",
    log:
        "results/logs/collect_cost.log",
    conda:
        "../../envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        **graph.software("collect_cost"),
        stages=stages,
        provenance=lambda wildcards: graph.provenance(),
    message:
        "add up what every job cost"
    script:
        "../scripts/collect_cost.py"


def table_files():
    """Return the files of all tables, by the names that they have in results/tables/."""
    others = expand("results/reporting/{name}.{ending}", name=["cost", "checklist"], ending=["csv", "md", "html"])
    return {Path(path).name: path for path in [*measured_tables(), *others]}


rule collect_table:
    """Copy one table into the folder of tables, if it is asked for by its name, as `results/tables/evaluation.csv`.

    output: a table, made with its own inputs only
    """
    input:
        lambda wildcards: table_files()[wildcards.table],
    output:
        "results/tables/{table}",
    log:
        "results/logs/collect_table/{table}.log",
    wildcard_constraints:
        table=any_of(map(re.escape, table_files())),
    conda:
        "../../envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        **graph.software("collect_table"),
    message:
        "put {wildcards.table} into results/tables/, alone"
    script:
        "../scripts/collect_table.py"


def paper_figures():
    """Return the files of all figures of papers."""
    return [
        f"results/figures/{paper}_{name}{ending}"
        for paper, of_paper in papers.items()
        for name in of_paper.figures
        for ending in FIGURE_FILES
    ]


def shown_figures(wildcards):
    """Return the figures in the index of the tables: none while a study, which some show, waits for participants."""
    return [] if settings.study and not participants() else paper_figures()


def pages():
    """Return the pages beside the tables: what a rule makes, the file that is opened, a title and a sentence."""
    if scored_captions(None):
        yield {
            "made": "results/browser",
            "file": "results/browser/index.html",
            "title": "The browser of captions",
            "sentence": "Every image with what people and captioners said of it, found or not, and how it was scored.",
        }
    if graph.described_models(trained=True):
        yield {
            "made": "results/training",
            "file": "results/training/index.html",
            "title": "Trainings and models",
            "sentence": "Curves and captions over time of every training, model cards, and the line to each model.",
        }
    if participants():  # what tables need of the study is made already
        yield {
            "made": "results/study/review.html",
            "file": "results/study/review.html",
            "title": "Sets of images of the study",
            "sentence": "Every set of images, to look through before anybody is shown them.",
        }
        yield {
            "made": "results/study/web",
            "file": "results/study/web/index.html",
            "title": "The study",
            "sentence": "What participants see, ready for any static server.",
        }


def report_labels(wildcards):
    """Return the labels of a table in the report of Snakemake."""
    labels = labels_of(wildcards)
    return {**labels, "table": titled(labels["table"], caveats)}


# How the tables stand in the report of Snakemake.
tables_in_report = {
    "patterns": [r"{name,(?!index\.)[^./]+}.{ending,csv|html}"],
    "caption": "../report/tables.rst",
    "category": paper_of,
    "subcategory": "tables",
    "labels": report_labels,
}


rule collect_tables:
    """Collect every table in one flat folder.

    output: every table for people. `index.html` and `index.md` group tables and figures by paper, and name the other
        pages of the run. `pictures/` has the pictures that tables of examples show in LaTeX
    """
    input:
        tables=list(table_files().values()),
        pictures=[f"results/reporting/{name}/pictures" for name, paper in papers.items() if paper.tables],
        figures=shown_figures,
        pages=[page["made"] for page in pages()],
        answer="results/index.html",  # not read, but tables link to it
        cards=lambda wildcards: model_cards(),  # not read: all that a run documents is there when its tables are
    output:
        report(directory("results/tables"), **tables_in_report),
    log:
        "results/logs/collect_tables.log",
    conda:
        "../../envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        **graph.software("collect_tables"),
        caveats=caveats,
        papers={name: paper.citation for name, paper in papers.items()},
        figures={f"{paper}_{name}": label for paper in papers for name, label in papers[paper].figures.items()},
        tables_of_figures={
            f"{paper}_{figure}": f"{paper}_{table}"
            for paper in papers
            for figure, table in papers[paper].tables_of_figures.items()
        },
        pages={page["file"]: [page["title"], page["sentence"]] for page in pages()},
    message:
        "collect every table in results/tables/"
    script:
        "../scripts/collect_tables.py"
