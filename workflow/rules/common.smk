"""Input functions that rules of several stages share.

`settings` is the config, `graph` what rules share of the library (captionlab.graph).
"""

# The papers of the run by name: rules.smk of each paper adds its own.
papers = {}

# What each title of the run says; see captionlab.config.caveats.
caveats = graph.provenance().get("caveats", [])


def figures(paper, path, labels):
    """Return the files of each figure of a paper. The PNG, which screens show, is in the report of Snakemake.

    `path` names the wildcards {name} and {ending}. `labels` has what each figure shows. The captions in the folder
    `report/` of the paper are named after the first word of a figure's name.
    """
    files = {}
    for name, label in labels.items():
        shown, *others = [path.format(name=name, ending=ending) for ending in FIGURE_FILES]
        caption = str(place_of("papers", paper) / "report" / f"{name.split('_')[0]}.rst")
        entry = {"category": paper, "subcategory": "figures", "labels": {"figure": titled(label, caveats)}}
        files[f"{paper}_{name}"] = [report(shown, caption=caption, **entry), *others]
    return files


def figure_pages(paper, labels, tables):
    """Return what the page of each figure of a paper says: its title, the table with its numbers, and its files.

    `labels` has what each figure shows, `tables` the tables of figures; names are without the name of the paper.
    """
    return {
        f"{paper}_{name}": {
            "title": figure_title(name, label, caveats),
            "table": f"{paper}_{tables[name]}" if name in tables else "",
            "files": {
                ending.lstrip("._").replace(".", " "): f"{paper}_{name}{ending}"
                for ending in FIGURE_FILES
                if ending != ".html"
            },
        }
        for name, label in labels.items()
    }


def figures_beside(paper, labels, tables):
    """Return the figures with the numbers of each table of a paper: by table, titles and addresses of figures.

    `labels` and `tables` are as for `figure_pages`.
    """
    beside = {}
    for figure, page in figure_pages(paper, labels, tables).items():
        if page["table"]:
            beside.setdefault(page["table"], {})[page["title"]] = f"../figures/{figure}.html"
    return beside


# The spaCy model that tags captions.
tagger = graph.tagger


def has_captions(corpus):
    """Return whether people described the images of a corpus; a corpus with `captions: null` has none."""
    return graph.block("corpora", corpus).get("captions", "") is not None


def is_human(wildcards):
    """Return whether the captions of a captioner are references."""
    return graph.root_of(wildcards.captioner).family == "human"


def lineage_of(captioner):
    """Return a captioner and its ancestors, the oldest last."""
    line = [settings.captioners[captioner]]
    while hasattr(line[-1], "parent"):
        line.append(settings.captioners[line[-1].parent])
    return line


def learned_corpora(captioner):
    """Return the corpora that a captioner and its ancestors learned; none if the oldest was not trained here."""
    line = lineage_of(captioner)
    corpora = [captioner.corpus for captioner in line if hasattr(captioner, "corpus")]
    return list(dict.fromkeys(corpora)) if hasattr(line[-1], "objective") else []


def participants():
    """Return the kinds of participants whose answers are analysed: people, simulated, both or none."""
    study = settings.study
    answers = {"people": study.responses, "simulated": study.simulated} if study else {}
    return [who for who, given in answers.items() if given]


def studied_captioners():
    """Return the captioners whose language is studied, sorted, without constructed captions."""
    captioners = settings.evaluations[settings.language.evaluation].captioners if settings.language else []
    return sorted(name for name in captioners if graph.root_of(name).family != "constructed")


def evaluation_contexts():
    """Return the decoding, and the split of each corpus, of each evaluation except sets of judgements."""
    return {
        name: {
            "decoding": getattr(evaluation, "decoding", None) or "given",
            "splits": {corpus: settings.corpora[corpus].evaluation_split for corpus in sorted(evaluation.corpora)},
        }
        for name, evaluation in sorted(settings.evaluations.items())
        if name not in settings.judgements
    }


def evaluated_corpora(wildcards):
    """Return the corpora of an evaluation, in the order of the config."""
    return settings.evaluations[wildcards.evaluation].corpora


def evaluated_images(wildcards):
    """Return the images of each corpus of an evaluation."""
    return [f"results/corpora/{corpus}/images.parquet" for corpus in evaluated_corpora(wildcards)]


def evaluated_captions(wildcards):
    """Return the captions of each corpus of an evaluation."""
    return [f"results/corpora/{corpus}/captions.parquet" for corpus in evaluated_corpora(wildcards)]


def evaluation_splits(wildcards):
    """Return the split of each corpus of an evaluation whose images are evaluated."""
    return [settings.corpora[corpus].evaluation_split for corpus in evaluated_corpora(wildcards)]


def ancestors(wildcards):
    """Return the files of the ancestors that a captioner with adapters is read with."""
    return graph.ancestor_files(wildcards.captioner)


def captioner_modules(wildcards):
    """Return the modules of the family of a captioner."""
    return graph.modules("captioners", wildcards.captioner)


def analysed_captioners():
    """Return a regular expression of the two captioners whose attention, captions and states are analysed on scenes."""
    scenes = settings.scene_analysis
    return any_of([scenes.pretrained, scenes.finetuned] if scenes else [])


def analysed_modules(wildcards):
    """Return the modules of the families of the two analysed captioners."""
    return graph.modules("captioners", settings.scene_analysis.pretrained, settings.scene_analysis.finetuned)


def analysed_images(wildcards):
    """Return the tables of the analysed corpus that a captioner reads: its regions and tags."""
    return graph.images_for("captioners", wildcards.captioner, settings.scene_analysis.corpus)


def analysed_tags(wildcards):
    """Return the tags of the analysed corpus, which both captioners read."""
    return graph.images_for("captioners", settings.scene_analysis.pretrained, settings.scene_analysis.corpus)[-1:]


def analysed_splits(wildcards):
    """Return the splits of the analysed corpus whose images are ablated and probed."""
    scenes = settings.scene_analysis
    return scenes.splits or [settings.corpora[scenes.corpus].evaluation_split]


def analysed_decoding(wildcards):
    """Return the decoding of captions before and after ablation."""
    return graph.block("decodings", settings.scene_analysis.decoding)


def min_captions(wildcards):
    """Return how many captions of an image must name a scene for the image to depict it."""
    return graph.block("scene_analysis", "labels", only=["min_captions"])


def checks_of(corpora):
    """Return the checks of corpora that come before work on their images. The work is not done again if a check is.

    Corpora of the toy world and sets of judgements have no check, because the config tells enough of them.
    """
    read = graph.names_of("corpora", "read").split("|")
    return [ancient(f"results/corpora/{corpus}/checked") for corpus in read if corpus in corpora]


def checks_before_training(section, name):
    """Return the checks of the corpora of a training: its own, and those on which the model is evaluated."""
    return checks_of(graph.corpora_of_training(section, name))


def training_images(wildcards):
    """Return the tables of the training corpus that a captioner reads: features, regions with tags, or the images."""
    return graph.images_for("captioners", wildcards.captioner, settings.captioners[wildcards.captioner].corpus)


def training_references(wildcards):
    """Return the captions of the training corpus, if the objective, the validation or the reward reads references."""
    captioner = settings.captioners[wildcards.captioner]
    kinds = [reward["kind"] for reward in graph.rewards(wildcards.captioner)]
    needed = captioner.validation or graph.facts("training.objectives", captioner.objective.kind).of_references
    needed = needed or any(graph.facts("training.rewards", kind).references for kind in kinds)
    return [f"results/corpora/{captioner.corpus}/captions.parquet"] if needed else []


def training_config(wildcards):
    """Return the parameters of a training or an import, beside its inputs."""
    return graph.training(wildcards.captioner)


def training_modules(wildcards):
    """Return the modules of the family, the objective, the rewards, and the models that rewards ask."""
    return graph.modules("training", wildcards.captioner)
