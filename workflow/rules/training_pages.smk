"""Training pages: the curves of every training, its captions over time, its model card, and the line to each model.

Needs: the logs and the cards of the models that are trained, and captions that evaluations have of their snapshots.
"""


def models_on_pages(wildcards=None):
    """Return the facts of all models with weights, as the pages show them."""
    models = []
    for model in graph.described_models():
        section, name = model["section"], model["name"]
        block = graph.block(section, name)
        rewards = graph.rewards(name) if section == "captioners" else []
        models.append(
            {
                **model,
                "seed": block.get("seed"),
                "unit": "epoch" if "epochs" in block.get("optimizer", {}) else "update",
                "origin": origins(block),
                "rewarded": [asked_by(reward) for reward in rewards if "of" not in reward],
            }
        )
    return models


def origins(block):
    """Return the file or folder that the weights of an imported model came from, without the folders above its own."""
    return [str(Path(*Path(path).parts[-2:])) for path in listed(block.get("run") or block.get("weights") or [])]


def asked_by(reward):
    """Return the kind of a reward and the model that it asks, and the encoder of a scorer that is an encoder."""
    for key, section in {"retriever": "encoders", "scorer": "scorers"}.items():
        if key in reward:
            encoder = getattr(getattr(settings, section)[reward[key]], "encoder", None)
            return {"kind": reward["kind"], "section": section, "name": reward[key], "encoder": encoder}
    return {"kind": reward["kind"], "section": None, "name": reward.get("questions"), "encoder": None}


def trained_captioners():
    """Return the corpus of each captioner that is trained here, without snapshots."""
    return {
        model["name"]: model["line"][0]["corpus"]
        for model in graph.described_models(trained=True)
        if model["section"] == "captioners" and not model["snapshot_of"]
    }


def snapshots_over_time(wildcards=None):
    """Return the evaluation, and the time of each captioner, of trainings whose snapshots an evaluation scores."""
    scored = {paths.captioner_of(path) for path in scored_captions(wildcards)}
    found = {}
    for name in trained_captioners():
        snapshots = [model for model in models_on_pages() if model["snapshot_of"] == name]
        snapshots.sort(key=lambda model: int(model["name"].split("@")[1]))
        times = {model["name"]: f"{model['unit']} {model['name'].split('@')[1]}" for model in snapshots}
        for evaluation in own_evaluations() if times else ():
            shown = {who: time for who, time in (times | {name: "the end"}).items() if (who, evaluation) in scored}
            if shown.keys() - {name}:
                found[name] = (evaluation, shown)
                break
    return found


def captions_of_snapshots(wildcards):
    """Return the captions by the snapshots and by the end of trainings."""
    return [
        f"results/captions/{captioner}/{evaluation}.parquet"
        for evaluation, times in snapshots_over_time(wildcards).values()
        for captioner in times
    ]


def captioned_corpora(wildcards):
    """Return the tables of images of corpora whose images captions over time describe."""
    corpora = {*trained_captioners().values()}
    evaluations = own_evaluations()
    corpora |= {
        corpus
        for evaluation, _ in snapshots_over_time(wildcards).values()
        for corpus in evaluations[evaluation].corpora
    }
    return [f"results/corpora/{corpus}/images.parquet" for corpus in sorted(corpora)]


def places_in_browser(wildcards):
    """Return the first evaluation and corpus of each captioner in the browser."""
    places = {}
    for name, shown in shown_evaluations().items():
        for captioner in shown["captioners"]:
            places.setdefault(captioner, [name, shown["corpora"][0]])
    return places


rule write_training_pages:
    """Write the pages of all trainings.

    output: `index.html` with the line from the first weights to each model, a page for each training with its curves
        and its captions over time, and each model card as a page. A run without trainings has no such folder
    """
    input:
        training=trained_files("training.parquet"),
        cards=lambda wildcards: model_cards(),
        training_captions=[f"results/captioners/{name}/training_captions.parquet" for name in trained_captioners()],
        rewards=reward_tables,
        captions=captions_of_snapshots,
        images=captioned_corpora,
    output:
        directory("results/training"),
    log:
        "results/logs/write_training_pages.log",
    conda:
        "../../envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=30,
    params:
        **graph.software("write_training_pages", "markdown-it-py"),
        caveats=caveats,
        models=models_on_pages,
        corpora=lambda wildcards: trained_captioners(),
        snapshots=lambda wildcards: {name: times for name, (_, times) in snapshots_over_time().items()},
        shown=places_in_browser,
        provenance=lambda wildcards: graph.provenance(),
    message:
        "write the pages of all trainings"
    script:
        "../scripts/write_training_pages.py"
