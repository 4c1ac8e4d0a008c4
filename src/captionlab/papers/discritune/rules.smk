"""Rules of the paper on discriminative finetuning (Dessì et al. 2023): its measurements, tables and figures.

Needs: scores of captions and retrieval; for Tables 6, 7 and 14 and Figure 2 the sections `study` and `language`.
"""

# The block of the paper in the config; None if the config has only a study or an analysis of language.
discritune = settings.papers.discritune


def trainings_of(name):
    """Return the captioners that a captioner with several seeds stands for."""
    return settings.trainings.get(name, [name])


def discritune_captioners():
    """Return the captioners of the paper."""
    return {name for named in discritune.captioners.values() for name in trainings_of(named)}


def evaluated_by_discritune():
    """Return each captioner and evaluation with captions of the paper's corpora."""
    corpora = {*discritune.corpora.values()}
    return {
        (captioner, name)
        for name in discritune.evaluations or settings.evaluations
        for captioner in discritune_captioners() & {*settings.evaluations[name].captioners}
        if corpora & {*settings.evaluations[name].corpora}
    }


def retriever_rewards(captioner):
    """Return the rewards of a captioner that a retriever gives."""
    return [reward for reward in graph.rewards(captioner) if "retriever" in reward]


def variants(wildcards=None):
    """Return the evaluation, corpora, reference, captioners and rewarding retrievers of each group of variants."""
    found = {}
    for group, block in sorted((discritune.variants or {}).items() if discritune else []):
        captioners = {label: listed(names) for label, names in sorted(block.captioners.items())}
        rewards = {
            label: sorted({reward["retriever"] for name in names for reward in retriever_rewards(name)})
            for label, names in captioners.items()
        }
        found[group] = {
            "evaluation": block.evaluation,
            "corpora": sorted({*block.corpora.values()}),
            "reference": block.reference,
            "captioners": captioners,
            "rewards": rewards,
        }
    return found


def evaluated_variants():
    """Return each captioner and evaluation of the variants."""
    return {
        (name, group["evaluation"])
        for group in variants().values()
        for names in group["captioners"].values()
        for name in names
    }


def captions_with_parents(path):
    """Return a file of each captioner with its parent in the same evaluation, and of the parents.

    Evaluations are those in which the section `language` compares fluency.
    """
    if not settings.language:
        return []
    files = []
    for evaluation in sorted(settings.language.fluency or [settings.language.evaluation]):
        studied = discritune_captioners() & {*settings.evaluations[evaluation].captioners}
        parents = {name: getattr(settings.captioners[name], "parent", None) for name in studied}
        paired = {one for name, parent in parents.items() if parent in studied for one in (name, parent)}
        files += [path.format(captioner=name, evaluation=evaluation) for name in sorted(paired)]
    return files


def distinguished_captioners():
    """Return the captioners whose typical words are compared."""
    return sorted((settings.language and settings.language.caption_types) or studied_captioners())


def of_language(table, captioners):
    """Return a table of the language of captioners in the evaluation whose language is studied."""
    evaluation = settings.language.evaluation if settings.language else None
    return [f"results/language/{name}/{evaluation}/{table}.parquet" for name in captioners]


def evaluations_with(table, places):
    """Return the evaluations among `places` (captioner, evaluation) that have scores by a metric."""
    return sorted({evaluation for _, evaluation in places & graph.scored_by(table)})


def scores_of(table, places):
    """Return the scores by a metric of the `places` (captioner, evaluation) that have some."""
    scored = sorted(places & graph.scored_by(table))
    return [f"results/evaluation/{captioner}/{evaluation}/{table}.parquet" for captioner, evaluation in scored]


def summary_inputs(wildcards):
    """Return captions and scores of the paper's captioners, tags and fluency of their captions, and scores of variants."""
    places = evaluated_by_discritune()
    return {
        "captions": [
            f"results/captions/{captioner}/{evaluation}.parquet"
            for captioner, evaluation in sorted(places & graph.scored_by("nlg"))
        ],
        "nlg": [f"results/evaluation/nlg/{evaluation}.parquet" for evaluation in evaluations_with("nlg", places)],
        "spice": scores_of("spice", places),
        "measures": captions_with_parents("results/language/{captioner}/{evaluation}/measures.parquet"),
        "tokens": captions_with_parents("results/evaluation/{captioner}/{evaluation}/tokens.parquet"),
        "tags": of_language("tags", distinguished_captioners()),
        "variant_captions": [
            f"results/captions/{captioner}/{evaluation}.parquet"
            for captioner, evaluation in sorted(evaluated_variants())
        ],
        "variant_nlg": [
            f"results/evaluation/nlg/{evaluation}.parquet"
            for evaluation in evaluations_with("nlg", evaluated_variants())
        ],
        "variant_spice": scores_of("spice", evaluated_variants()),
        "variant_retrieval": scores_of("retrieval", evaluated_variants()),
    }


def compared_block(wildcards):
    """Return the captioners and corpora of the paper's block; `comparable` is fixed, as it changes no measurement."""
    return {**graph.block("papers", "discritune", only=["captioners", "corpora"]), "comparable": False}


if discritune:

    rule summarise_discritune:
        """Measure the captioners of the paper and of its ablations.

        values: captionlab.evaluation.schemas.ROLE_VALUES. Rows are means over seeds of the captioners of ablations
        differences: captionlab.evaluation.schemas.ROLE_DIFFERENCES. Some of the paper's claims are judged by them.
            Variants are compared with the reference; gains on descriptions with gains on captions of the same images;
            captioners with each other on corpora that neither was trained on; similarity and fluency with the
            parent's; colours among the adjectives between types of captions
        """
        input:
            unpack(summary_inputs),
        output:
            values="results/reporting/discritune/values.parquet",
            differences="results/reporting/discritune/differences.parquet",
        log:
            "results/logs/summarise_discritune.log",
        group:
            "reporting"
        conda:
            f"{ROOT}/envs/captionlab.yaml"
        threads: 1
        resources:
            mem_mb=4000,
            runtime=60,
        params:
            **graph.software("summarise_paper", "numpy", "scipy", loads={"captionlab.papers.discritune.summary": []}),
            module="captionlab.papers.discritune.summary",
            config=compared_block,
            evaluations=lambda wildcards: evaluation_contexts(),
            lineage=lambda wildcards: graph.lineage(),
            trainings=lambda wildcards: settings.trainings,
            variants=variants,
            seed=settings.seed,
        message:
            "measure the numbers of the discritune paper"
        script:
            f"{ROOT}/workflow/scripts/summarise_paper.py"


def discritune_tables():
    """Return the names of the tables for which the config has the captioners, corpora, variants, study or language."""
    names = [layout.name for layout in discritune.layouts] if discritune else []
    names += [f"table6_{who}" for who in participants()]
    return [*names, *(["table7_adjectives", "table14_nouns"] if settings.language else [])]


def measured_inputs(wildcards):
    """Return the paper's measurements and the summary of all evaluations; none if the paper is not asked for."""
    measured = {
        "summary": "results/reporting/summary.parquet",
        "values": "results/reporting/discritune/values.parquet",
        "differences": "results/reporting/discritune/differences.parquet",
    }
    return measured if discritune else {}


def answer_inputs(wildcards):
    """Return the analysed answers to the study, of people and of simulated participants."""
    return {
        f"{who}_{table}": f"results/study/{who}/{table}.parquet"
        for who in participants()
        for table in ("accuracy", "pairwise", "agreement", "participants")
    }


def association_inputs(wildcards):
    """Return the words that tell caption types apart."""
    words = {
        "associations": "results/language/associations.parquet",
        "statistics": of_language("statistics", studied_captioners()),
    }
    return words if settings.language else {}


def retrievers_of_variants(wildcards):
    """Return the retrievers of the evaluation, and the rewarding retrievers, of each group of variants."""
    return {
        name: {"retrievers": settings.evaluations[group["evaluation"]].retrievers, "rewards": group["rewards"]}
        for name, group in variants().items()
    }


rule tabulate_discritune:
    """Make the tables of the paper, and tables beyond the paper.

    table1_retrieval: P@1 by captioner, corpus and retriever; ours with interval, the published value, a verdict
    table2_in_domain: BLEU@4, METEOR, CIDEr and SPICE on the corpus that a captioner was trained on
    table3_cross_domain: BLEU@4, METEOR, CIDEr and SPICE on every other corpus
    table4_blip_retrieval: P@1 of BLIP, when `papers.discritune.captioners` names it
    table5_blip: BLEU@4, METEOR, CIDEr and SPICE of BLIP, when `papers.discritune.captioners` names it
    table6_{people,simulated}: accuracy of people, or of simulated participants, by type of captions; differences,
        agreement
    table7_adjectives: adjectives that go with each captioner, by local mutual information; of words that mostly are
        adjectives
    table8_baselines: P@1 with other baselines of REINFORCE, and differences from the reference, over seeds; when
        `papers.discritune.variants` names them
    table9_rewards: P@1 after finetuning by other rewards, and differences from the reference, over seeds; when
        `papers.discritune.variants` names them
    table10_camel: BLEU@4, METEOR, CIDEr and SPICE of CaMEL, when `papers.discritune.captioners` names it
    table11_lookalikes: P@1 within sets of ten look-alikes, when `papers.discritune.corpora` names `ImageCoDe`
    table12_hard_distractors: BLEU@4, METEOR, CIDEr and SPICE after finetuning with hard distractors, and differences
        from the reference, over seeds; when `papers.discritune.variants` names them
    table13_hard_distractors: P@1 after finetuning with hard distractors, and differences from the reference, over
        seeds; when `papers.discritune.variants` names them
    table14_nouns: nouns that go with each captioner, by local mutual information; of words that mostly are nouns
    learning_rates: P@1 after finetuning at several learning rates, when `papers.discritune.variants` names them; the
        paper prints no number of its search
    retrievers: beyond the paper: which retrievers understand captions that another retriever rewarded
    divergence: beyond the paper: what a penalty for leaving the parent does to P@1 and CIDEr
    pictures: pictures that tables of examples show in LaTeX, as PNG
    cells: captionlab.reporting.tables.cells.CELLS. By the cells, claims lead to the numbers of the tables
    """
    input:
        unpack(measured_inputs),
        unpack(answer_inputs),
        unpack(association_inputs),
        published=own(place_of("papers", "discritune") / "published.csv"),
    output:
        tables=expand(
            "results/reporting/discritune/discritune_{name}.{ending}", name=discritune_tables(), ending=FORMATS
        ),
        pictures=directory("results/reporting/discritune/pictures"),
        cells="results/reporting/discritune/cells.parquet",
    log:
        "results/logs/tabulate_discritune.log",
    group:
        "reporting"
    conda:
        f"{ROOT}/envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=10,
    params:
        **graph.software("tabulate_paper", loads={"captionlab.papers.discritune.tables": []}),
        module="captionlab.papers.discritune.tables",
        figures=lambda wildcards: figures_beside("discritune", figure_labels(), discritune_tables_of_figures()),
        config=graph.block("papers", "discritune") if discritune else {},
        lineage=lambda wildcards: graph.lineage(),
        retrievers=retrievers_of_variants,
        participants=participants(),
        study_captioners=settings.study.captioners if settings.study else [],
        study_corpus=settings.study.corpus if settings.study else None,
        caption_types=distinguished_captioners() if settings.language else [],
        provenance=lambda wildcards: graph.provenance(),
    message:
        "make the tables of the discritune paper"
    script:
        f"{ROOT}/workflow/scripts/tabulate_paper.py"


def finetuned_captioners(wildcards=None):
    """Return the captioners of the paper that are finetuned, in the order of their labels."""
    named = [name for _, name in sorted(discritune.captioners.items())] if discritune else []
    return [name for name in named if hasattr(settings.captioners[name], "parent")]


def figure_labels():
    """Return the figures for which the config has the paper's captioners or a study, and their titles."""
    labels = {"retrieval": "retrieval", "finetuning": "finetuning"} if discritune else {}
    labels |= {f"figure2_{who}": f"examples of the study, {who}" for who in participants()}
    return labels | ({"figure3_screen": "a screen of the study"} if settings.study else {})


def discritune_tables_of_figures():
    """Return the table with the numbers of each figure that has one."""
    tables = {"retrieval": "table1_retrieval", **{f"figure2_{who}": f"table6_{who}" for who in participants()}}
    return {name: tables[name] for name in figure_labels() if name in tables and tables[name] in discritune_tables()}


def parents_in_study(wildcards):
    """Return the parent of each captioner of the study whose parent is in the study too."""
    shown = sorted(settings.study.captioners) if settings.study else []
    parents = {name: getattr(settings.captioners[name], "parent", None) for name in shown}
    return {name: parent for name, parent in parents.items() if parent in parents}


def screen_inputs(wildcards):
    """Return the sets of images of the study, and the images."""
    files = {
        "stimuli": "results/study/stimuli.parquet",
        "images": f"results/corpora/{settings.study and settings.study.corpus}/images.parquet",
    }
    return files if settings.study else {}


rule plot_discritune:
    """Draw the figures of the paper."""
    input:
        unpack(screen_inputs),
        summary="results/reporting/summary.parquet" if discritune else [],
        training=expand("results/captioners/{captioner}/training.parquet", captioner=finetuned_captioners()),
        answers=expand("results/study/{participants}/answers.parquet", participants=participants()),
        published=own(place_of("papers", "discritune") / "published.csv"),
        style=own(ROOT / "config/plotting.yaml"),
    output:
        **figures("discritune", "results/figures/discritune_{name}{ending}", figure_labels()),
    log:
        "results/logs/plot_discritune.log",
    group:
        "reporting"
    conda:
        f"{ROOT}/envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=10,
    params:
        **graph.software("plot_paper", "matplotlib", loads={"captionlab.papers.discritune.figures": []}),
        caveats=caveats,
        venue=settings.venue,
        pages=figure_pages("discritune", figure_labels(), discritune_tables_of_figures()),
        module="captionlab.papers.discritune.figures",
        config=graph.block("papers", "discritune") if discritune else {},
        finetuned=finetuned_captioners,
        participants=participants(),
        people=lambda wildcards: human_captioner(wildcards) if settings.study else None,
        parents=parents_in_study,
        rewarding=lambda wildcards: sorted(
            {reward["retriever"] for name in finetuned_captioners() for reward in retriever_rewards(name)}
        ),
    message:
        "draw the figures of the discritune paper"
    script:
        f"{ROOT}/workflow/scripts/plot_paper.py"


def discritune_evidence():
    """Return the files by which claims are judged (values, comparisons, differences, answers) and the lineage."""
    files = {
        "summary": "results/reporting/summary.parquet",
        "comparisons": "results/reporting/comparisons.parquet",
        "differences": "results/reporting/discritune/differences.parquet",
    }
    if "people" in participants():
        files |= {f"study_{table}": [f"results/study/people/{table}.parquet"] for table in ("accuracy", "pairwise")}
    return files, {"lineage": graph.lineage()}


papers["discritune"] = Paper(
    citation="Dessì et al. 2023, *Cross-Domain Image Captioning with Discriminative Finetuning*",
    tables=rules.tabulate_discritune.output.tables,
    figures=figure_labels(),
    tables_of_figures=discritune_tables_of_figures(),
    evidence=discritune_evidence,
)
