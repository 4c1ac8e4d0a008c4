"""What evaluations, the study, validity and the analysis of scenes say of other parts of a config."""

from collections.abc import Iterator

from captionlab.roles import ROLES
from captionlab.workflow.blocks import GIVEN, Block, captioner_kind, root_of
from captionlab.workflow.families import attends_to_tags, captioners
from captionlab.workflow.names import (
    a_family,
    family_of,
    files_mistakes,
    hint,
    known,
    names_of,
    retriever_mistakes,
    size_mistakes,
)


def evaluation_mistakes(config: Block, where: str, evaluation: Block) -> Iterator[str]:
    """One sentence for each thing in an evaluation that cannot be followed; `where` is its place in the config."""
    if "decoding" in evaluation:
        yield from known(config, "decodings", evaluation["decoding"], f"{where}.decoding")
    for retriever in evaluation.get("retrievers", []):
        yield from retriever_mistakes(config, retriever, f"{where}.retrievers")
    for name in evaluation.get("scorers", []):
        yield from known(config, "scorers", name, f"{where}.scorers")
        for corpus in evaluation["corpora"]:
            yield from files_mistakes(config, where, config.get("scorers", {}).get(name, {}), corpus)
    for corpus in evaluation["corpora"]:
        yield from known(config, "corpora", corpus, f"{where}.corpora")
        if evaluation.get("retrievers"):
            split = config["corpora"].get(corpus, {}).get("evaluation_split", "test")
            yield from size_mistakes(
                config, where, corpus, split, evaluation.get("candidates", 100), "a set of candidates"
            )
    for captioner in evaluation["captioners"]:
        yield from known(config, "captioners", captioner, f"{where}.captioners")
        block = config["captioners"].get(captioner, {})
        if family_of(config, captioner):
            root = config["captioners"][root_of(config, captioner)]
            for corpus in evaluation["corpora"]:
                yield from files_mistakes(config, where, root, corpus, f"the captioner {captioner!r}")
        if "captions" in block and (absent := [c for c in evaluation["corpora"] if c not in block["captions"]]):
            missing = f"captioners.{captioner}.captions.{absent[0]}"
            yield f"{where}: the captioner {captioner!r} has no captions for {', '.join(absent)}; add {missing}"
    kinds = {captioner_kind(config["captioners"].get(c, {"family": "file"})) for c in evaluation["captioners"]}
    if "decoding" not in evaluation and not kinds <= GIVEN:
        yield f"{where} has captioners that generate, so it needs a decoding; there are {names_of(config, 'decodings')}"
    if evaluation.get("retrievers") or evaluation.get("scorers") or not kinds <= GIVEN:
        for corpus in evaluation["corpora"]:
            if config["corpora"].get(corpus, {}).get("images", "") is None:
                yield (
                    f"{where}: the corpus {corpus!r} is text only (images: null), "
                    "so no captioner can describe it, no retriever search in it and no scorer look at it"
                )


def repeated_evaluations(evaluations: Block) -> Iterator[str]:
    """Captions that two evaluations would both make."""
    seen: dict[tuple[str, str, str], str] = {}
    for name, evaluation in evaluations.items():
        for captioner in evaluation["captioners"]:
            for corpus in evaluation["corpora"]:
                job = (captioner, corpus, evaluation.get("decoding", "given"))
                if job in seen:
                    yield (
                        f"evaluations.{seen[job]} and evaluations.{name} both caption {corpus!r} "
                        f"with {captioner!r} by {job[2]!r}; keep it in one of them"
                    )
                seen[job] = name


def study_mistakes(config: Block, study: Block) -> Iterator[str]:
    """One sentence for each thing in `study` that cannot be followed."""
    for key, section in (("corpus", "corpora"), ("evaluation", "evaluations"), ("encoder", "encoders")):
        yield from known(config, section, study[key], f"study.{key}")
    if "simulated" in study:
        yield from known(config, "encoders", study["simulated"]["retriever"], "study.simulated.retriever")
    evaluation = config["evaluations"].get(study["evaluation"], {})
    for key, of_study in (("corpora", [study["corpus"]]), ("captioners", study["captioners"])):
        for name in of_study:
            if name not in evaluation.get(key, [name]):
                yield f"study shows {name!r}, which evaluations.{study['evaluation']}.{key} does not name; add it there"
    kinds = [captioner_kind(config["captioners"].get(name, {})) for name in study["captioners"]]
    if kinds.count("human") != 1:
        yield "study.captioners must have one captioner of the family human: controls show human captions"
    sets, block = (study.get(key, default) for key, default in (("sets", 500), ("block", 100)))
    if sets % block:
        yield f"study.sets is {sets}, no multiple of study.block; write sets: {max(1, sets // block) * block}"


def validity_mistakes(config: Block, validity: Block) -> Iterator[str]:
    """One sentence for each thing in `validity` that cannot be followed."""
    corpus = validity["corpus"]
    yield from known(config, "corpora", corpus, "validity.corpus")
    searched = [e for e in config["evaluations"].values() if corpus in e["corpora"] and e.get("retrievers")]
    named = {name for evaluation in searched for name in evaluation["captioners"]}
    if not any(captioner_kind(config["captioners"].get(name, {})) == "human" for name in named):
        yield (
            f"validity.corpus is {corpus!r}, on which no evaluation has retrievers and a captioner of the family "
            "human; validity is about how often a human caption finds its image"
        )


def scene_analysis_mistakes(config: Block, scenes: Block) -> Iterator[str]:
    """One sentence for each thing in `scene_analysis` that cannot be followed."""
    yield from known(config, "corpora", scenes["corpus"], "scene_analysis.corpus")
    yield from known(config, "decodings", scenes["decoding"], "scene_analysis.decoding")
    if config.get("decodings", {}).get(scenes["decoding"], {}).get("kind") == "sample":
        yield "scene_analysis.decoding draws at random; captions before and after ablation are compared: use a beam"
    for role in ROLES:
        name = scenes[role]
        yield from known(config, "captioners", name, f"scene_analysis.{role}")
        if (family := family_of(config, name)) and not attends_to_tags(family):
            able = a_family(name for name in captioners() if attends_to_tags(name))
            yield f"scene_analysis.{role} is {name!r}, a {family}; what is analysed is attention to tags, of {able}"
        elif family:
            root = config["captioners"][root_of(config, name)]
            yield from files_mistakes(config, f"scene_analysis.{role}", root, scenes["corpus"], "the captioner")
    yield from _roots_mistakes(config, scenes)
    yield from _splits_mistakes(config, scenes)
    labels = scenes.get("labels", {})
    reader = config["corpora"].get(scenes["corpus"], {}).get("reader")
    if labels.get("table", "scene_captions") == "scene_captions" and reader not in (None, "hl", "toyworld"):
        yield (
            f"scene_analysis.corpus is {scenes['corpus']!r}, which has no scene captions; "
            "write scene_analysis.labels: {table: captions} to find scenes in its references"
        )
    there = len(labels["names"]) if "names" in labels else labels.get("number")
    probed = scenes.get("probes", {}).get("scenes")
    if there and probed and probed > there:
        yield f"scene_analysis.probes.scenes is {probed}, and scene_analysis.labels has {there} scenes; make both equal"


def _roots_mistakes(config: Block, scenes: Block) -> Iterator[str]:
    """Both captioners are compared on the same tags and regions, which are those of the roots of their lines."""
    names = {role: scenes[role] for role in ROLES}
    if not all((family := family_of(config, name)) and attends_to_tags(family) for name in names.values()):
        return
    roots = {role: root_of(config, name) for role, name in names.items()}
    for key in ("regions", "tags"):
        read = {role: config["captioners"][root].get(key) for role, root in roots.items()}
        if len({*read.values()}) > 1:
            told = " and ".join(f"scene_analysis.{role} reads {read[role]!r} ({roots[role]})" for role in ROLES)
            yield f"{told}; they are compared on the same {key}, so name captioners that read the same"


def _splits_mistakes(config: Block, scenes: Block) -> Iterator[str]:
    """The splits whose images are ablated and probed are there, where the config says which splits a corpus has."""
    there = _splits_of(config["corpora"].get(scenes["corpus"], {}))
    for split in scenes.get("splits", []):
        if there and split not in there:
            yield f"scene_analysis.splits has {split!r}, which {scenes['corpus']!r} has not; {hint(split, there)}"


def _splits_of(corpus: Block) -> list[str]:
    """The splits of a corpus whose block has a number or a file for each; none where its files alone say them."""
    by_split = corpus.get("images" if corpus.get("reader") == "toyworld" else "annotations")
    return [*by_split, *(["val"] if "validation" in corpus else [])] if isinstance(by_split, dict) else []
