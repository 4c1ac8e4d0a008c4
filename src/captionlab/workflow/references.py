"""What the parts of a config say of each other that its schema does not: what must fit, where names lead somewhere.

The config fits its schema, so that every name leads somewhere, and has all defaults.
"""

from collections.abc import Iterator

from captionlab.roles import ROLES
from captionlab.workflow.blocks import GIVEN, Block, captioner_kind, root_of, scorer_kind
from captionlab.workflow.captioner_references import captioner_mistakes, files_mistakes, parent_mistakes, size_mistakes
from captionlab.workflow.families import a_family, captioners, readers
from captionlab.workflow.schema import hint


def reference_mistakes(config: Block, given: Block) -> Iterator[str]:
    """One sentence for each thing that cannot be done; `given` is the config without defaults."""
    if broken := [mistake for name in config["captioners"] for mistake in parent_mistakes(config, name)]:
        yield from broken
        return
    for name, corpus in config["corpora"].items():
        split = corpus["evaluation_split"]
        if corpus["reader"] == "toyworld" and split not in corpus["images"]:
            named = ", ".join(map(str, corpus["images"]))
            yield f"corpora.{name}: evaluations use the split {split!r}, but images names {named}"
    for name, scorer in config["scorers"].items():
        if scorer_kind(scorer) == "trained":
            yield from _scorer_mistakes(config, f"scorers.{name}", scorer)
    for name, captioner in config["captioners"].items():
        yield from captioner_mistakes(config, name, captioner)
    for name, evaluation in config["evaluations"].items():
        yield from _evaluation_mistakes(config, f"evaluations.{name}", evaluation)
    yield from _repeated_evaluations(config["evaluations"])
    if language := config.get("language"):
        for name in language.get("caption_types", []):
            if name not in config["evaluations"][language["evaluation"]]["captioners"]:
                yield (
                    f"language.caption_types has {name!r}, which is not among the captioners of "
                    f"evaluations.{language['evaluation']}"
                )
    if study := config.get("study"):
        yield from _study_mistakes(config, study)
    if validity := config.get("validity"):
        yield from _validity_mistakes(config, validity["corpus"])
    if scenes := config.get("scene_analysis"):
        yield from _scene_analysis_mistakes(config, scenes)
        yield from _probes_mistakes(given["scene_analysis"])


def _scorer_mistakes(config: Block, where: str, scorer: Block) -> Iterator[str]:
    yield from files_mistakes(config, where, scorer, scorer["corpus"])
    if scorer["word_embeddings"] == "encoder" and "encoder" not in config["regions"][scorer["regions"]]:
        yield (
            f"{where}.word_embeddings is 'encoder', but regions.{scorer['regions']} are of no encoder that knows "
            "words; write `word_embeddings: random`"
        )
    yield from size_mistakes(config, where, scorer["corpus"], "train", scorer["optimizer"]["batch"], "a batch")


def _evaluation_mistakes(config: Block, where: str, evaluation: Block) -> Iterator[str]:
    corpora, blocks = evaluation["corpora"], config["captioners"]
    for name in evaluation["scorers"]:
        for corpus in corpora:
            yield from files_mistakes(config, where, config["scorers"][name], corpus)
    for corpus in corpora if evaluation["retrievers"] else []:
        split = config["corpora"][corpus]["evaluation_split"]
        yield from size_mistakes(config, where, corpus, split, evaluation["candidates"], "a set of candidates")
    for captioner in evaluation["captioners"]:
        root, captions = blocks[root_of(config, captioner)], blocks[captioner].get("captions", dict.fromkeys(corpora))
        for corpus in corpora:
            yield from files_mistakes(config, where, root, corpus, f"the captioner {captioner!r}")
        if absent := [corpus for corpus in corpora if corpus not in captions]:
            missing = f"captioners.{captioner}.captions.{absent[0]}"
            yield f"{where}: the captioner {captioner!r} has no captions for {', '.join(absent)}; add {missing}"
    generated = not {captioner_kind(blocks[captioner]) for captioner in evaluation["captioners"]} <= GIVEN
    if "decoding" not in evaluation and generated:
        there = ", ".join(config["decodings"]) or "none"
        yield f"{where} has captioners that generate, so it needs a decoding; there are {there}"
    if evaluation["retrievers"] or evaluation["scorers"] or generated:
        for corpus in corpora:
            if config["corpora"][corpus]["images"] is None:
                yield (
                    f"{where}: the corpus {corpus!r} is text only (images: null), "
                    "so no captioner can describe it, no retriever search in it and no scorer look at it"
                )


def _repeated_evaluations(evaluations: Block) -> Iterator[str]:
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


def _study_mistakes(config: Block, study: Block) -> Iterator[str]:
    evaluation = config["evaluations"][study["evaluation"]]
    for key, of_study in (("corpora", [study["corpus"]]), ("captioners", study["captioners"])):
        for name in of_study:
            if name not in evaluation[key]:
                yield f"study shows {name!r}, which evaluations.{study['evaluation']}.{key} does not name; add it there"
    if [captioner_kind(config["captioners"][name]) for name in study["captioners"]].count("human") != 1:
        yield "study.captioners must have one captioner of the family human: controls show human captions"
    sets, block = study["sets"], study["block"]
    if sets % block:
        yield f"study.sets is {sets}, no multiple of study.block; write sets: {max(1, sets // block) * block}"


def _validity_mistakes(config: Block, corpus: str) -> Iterator[str]:
    searched = [e for e in config["evaluations"].values() if corpus in e["corpora"] and e["retrievers"]]
    named = {name for evaluation in searched for name in evaluation["captioners"]}
    if not any(captioner_kind(config["captioners"][name]) == "human" for name in named):
        yield (
            f"validity.corpus is {corpus!r}, on which no evaluation has retrievers and a captioner of the family "
            "human; validity is about how often a human caption finds its image"
        )


def _scene_analysis_mistakes(config: Block, scenes: Block) -> Iterator[str]:
    roots = {role: root_of(config, scenes[role]) for role in ROLES}
    blocks = {role: config["captioners"][root] for role, root in roots.items()}
    able = [name for name, family in captioners().items() if family.attention]
    for role, block in blocks.items():
        if block["family"] not in able:
            named = f"scene_analysis.{role} is {scenes[role]!r}, a {block['family']}"
            yield f"{named}; what is analysed is attention to tags, of {a_family(able)}"
        else:
            yield from files_mistakes(config, f"scene_analysis.{role}", block, scenes["corpus"], "the captioner")
    for key in ("regions", "tags") if all(block["family"] in able for block in blocks.values()) else ():
        read = {role: block[key] for role, block in blocks.items()}
        if len({*read.values()}) > 1:
            told = " and ".join(f"scene_analysis.{role} reads {read[role]!r} ({roots[role]})" for role in ROLES)
            yield f"{told}; they are compared on the same {key}, so name captioners that read the same"
    corpus = config["corpora"][scenes["corpus"]]
    there = splits_of(corpus)
    for split in scenes.get("splits", []):
        if there and split not in there:
            yield f"scene_analysis.splits has {split!r}, which {scenes['corpus']!r} has not; {hint(split, there)}"
    reader = corpus["reader"]
    if scenes["labels"]["table"] == "scene_captions" and not (reader == "toyworld" or readers()[reader].scenes):
        yield (
            f"scene_analysis.corpus is {scenes['corpus']!r}, which has no scene captions; "
            "write scene_analysis.labels: {table: captions} to find scenes in its references"
        )


def _probes_mistakes(scenes: Block) -> Iterator[str]:
    """Who says how many scenes there are, and how many are probed, says it twice; by default there may be fewer."""
    labels, probed = scenes.get("labels", {}), scenes.get("probes", {}).get("scenes", 0)
    there = len(labels["names"]) if "names" in labels else labels.get("number", probed)
    if probed > there:
        yield f"scene_analysis.probes.scenes is {probed}, and scene_analysis.labels has {there} scenes; make both equal"


def splits_of(corpus: Block) -> list[str]:
    """The splits of a corpus whose block has a number or a file for each; none where its files alone say them."""
    by_split = corpus["images" if corpus["reader"] == "toyworld" else "annotations"]
    return [*by_split, *(["val"] if "validation" in corpus else [])] if isinstance(by_split, dict) else []
