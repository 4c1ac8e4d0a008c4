"""What the parts of a config say of each other that its schema does not: parents, objectives, batches, what must fit.

The config fits its schema, so that every name leads somewhere, and has all defaults.
"""

from collections.abc import Iterator
from itertools import product

from captionlab.roles import ROLES
from captionlab.workflow.blocks import GIVEN, Block, captioner_kind, model_kind, root_of
from captionlab.workflow.families import a_family, captioners, readers, rewards_in
from captionlab.workflow.schema import hint


def reference_mistakes(config: Block, given: Block) -> Iterator[str]:
    """One sentence for each thing that cannot be done; `given` is the config without defaults."""
    if broken := [mistake for name in config["captioners"] for mistake in _parent_mistakes(config, name)]:
        yield from broken
        return
    for name, corpus in config["corpora"].items():
        split = corpus["evaluation_split"]
        if corpus["reader"] == "toyworld" and split not in corpus["images"]:
            named = ", ".join(map(str, corpus["images"]))
            yield f"corpora.{name}: evaluations use the split {split!r}, but images names {named}"
    for name, encoder in config["encoders"].items():
        yield from _heads_mistakes(f"encoders.{name}.architecture", encoder.get("architecture", {}))
    for name, scorer in config["scorers"].items():
        if model_kind(scorer) == "trained":
            yield from _scorer_mistakes(config, f"scorers.{name}", scorer)
    for name, captioner in config["captioners"].items():
        yield from _captioner_mistakes(config, name, captioner)
    for name, evaluation in config["evaluations"].items():
        yield from _evaluation_mistakes(config, f"evaluations.{name}", evaluation)
    yield from _repeated_evaluations(config["evaluations"])
    if study := config.get("study"):
        yield from _study_mistakes(config, study)
    if validity := config.get("validity"):
        yield from _validity_mistakes(config, validity["corpus"])
    if scenes := config.get("scene_analysis"):
        yield from _scene_analysis_mistakes(config, scenes)
        yield from _probes_mistakes(given["scene_analysis"])


def _parent_mistakes(config: Block, name: str) -> Iterator[str]:
    """The line of parents of a captioner leads to one without a parent that can be trained."""
    blocks, line = config["captioners"], [name]
    while parent := blocks[line[-1]].get("parent"):
        if parent in line:
            circle = " -> ".join([*line, parent])
            yield f"captioners.{name} is its own ancestor ({circle}); one of them needs a family instead of a parent"
            return
        line.append(parent)
    if len(line) > 1 and captioner_kind(blocks[line[-1]]) in GIVEN:
        family = blocks[line[-1]]["family"]
        yield f"captioners.{name} cannot be finetuned: {line[-1]!r} is a {family} captioner and has no weights"


def _heads_mistakes(where: str, architecture: Block) -> Iterator[str]:
    """Attention heads of an encoder that is trained here share the width of each tower; open_clip would round."""
    vision, text = (architecture.get(tower, {}) for tower in ("vision_cfg", "text_cfg"))
    # A ResNet has heads where it pools its last layer.
    wide = vision.get("width", 64) * (32 if isinstance(vision.get("layers"), list) else 1)
    for tower, key, number, width in (
        ("vision_cfg", "head_width", vision.get("head_width", 64), wide),
        ("text_cfg", "heads", text.get("heads", 1), text.get("width", 64)),
    ):
        if width % number:
            yield f"{where}.{tower}.{key} is {number}, which does not divide the width {width}; make it one that does"


def _captioner_mistakes(config: Block, name: str, block: Block) -> Iterator[str]:
    """One sentence for each thing in `captioners.<name>` that cannot be done."""
    where = f"captioners.{name}"
    if block.get("family") == "constructed":
        yield from _construction_mistakes(config, name, block)
    if "objective" not in block:
        return
    corpus, objective, optimizer = block["corpus"], block["objective"], block["optimizer"]
    root = config["captioners"][root_of(config, name)]
    yield from _size_mistakes(config, where, corpus, "train", optimizer["batch"], "a batch")
    yield from _files_mistakes(config, where, root, corpus, "the captioner")
    yield from _objective_mistakes(where, root["family"], objective)
    if optimizer.get("stop_after", 0) > optimizer.get("epochs", 0):
        yield f"{where}.optimizer.stop_after must be at most epochs, which it needs"
    if validation := block.get("validation"):
        yield from _size_mistakes(config, where, corpus, validation["split"], 1, "validation")
        if optimizer.get("steps", validation["every"]) < validation["every"]:
            yield f"{where}.validation.every is {validation['every']} and there are {optimizer['steps']} updates"
    if "reward" in objective:
        yield from _reward_mistakes(config, where, block)


def _construction_mistakes(config: Block, name: str, block: Block) -> Iterator[str]:
    if ("mined" in block.get("templates", [])) != ("mined_from" in block):
        yield (
            f"captioners.{name}: mined templates are found in the captions of captioners; give both `templates: "
            "[mined]` and `mined_from: {name of the template: captioner}`, or neither"
        )
    sources = {"captions_of": block["captions_of"]}
    sources |= {f"mined_from.{model}": of for model, of in block.get("mined_from", {}).items()}
    for key, of in sources.items():
        for evaluation, content in config["evaluations"].items():
            if name in content["captioners"] and of not in content["captioners"]:
                yield f"evaluations.{evaluation} has {name!r}, so it needs its {key}; add {of!r} to its captioners"


def _objective_mistakes(where: str, family: str, objective: Block) -> Iterator[str]:
    """What a captioner is trained by suits its family."""
    declared = captioners()[family]
    if objective["kind"] not in declared.objectives:
        able = " or ".join(declared.objectives)
        yield f"{where}.objective.kind is {objective['kind']!r}, by which a {family} cannot be trained; write {able}"
    known_options = {option for other in captioners().values() for option in other.options}
    for option in sorted(known_options & objective.keys() - {*declared.options}):
        able = a_family(name for name, other in captioners().items() if option in other.options)
        yield f"{where}.objective.{option} is nothing that a {family} can do, but {able}; drop it"


def _reward_mistakes(config: Block, where: str, block: Block) -> Iterator[str]:
    objective, batch = block["objective"], block["optimizer"]["batch"]
    if objective["baseline"] == "leave-one-out" and objective["samples"] < 2:
        yield f"{where}.objective: the baseline leave-one-out needs at least 2 samples"
    for place, reward in rewards_in(objective["reward"], f"{where}.objective.reward"):
        if "scorer" in reward:
            scorer = config["scorers"][reward["scorer"]]
            yield from _files_mistakes(config, f"{place}.scorer", scorer, block["corpus"])
        if "candidates" not in reward:
            continue
        hard = reward.get("hard_negatives", 0)
        candidates = reward["candidates"] - hard
        if candidates < 1:
            yield f"{place}: {hard} hard_negatives of {reward['candidates']} candidates leave no place for the image"
            continue
        if batch < candidates or batch % candidates:
            what = "smaller than" if batch < candidates else "no multiple of"
            enough = max(1, batch // candidates) * candidates
            less = f" less {hard} hard negatives" if hard else ""
            yield (
                f"{where}: distractors come from the batch, and a batch of {batch} is {what} {reward['candidates']} "
                f"candidates{less}; write `optimizer: {{batch: {enough}}}` or `reward: {{candidates: {batch + hard}}}`"
            )


def _files_mistakes(config: Block, where: str, block: Block, corpus: str, who: str = "the scorer") -> Iterator[str]:
    """Regions and tags that a scorer or captioner reads from files are there for the corpora that are named."""
    for section in ("regions", "tags"):
        if section in block and corpus not in config[section][block[section]].get("files", {corpus: None}):
            yield f"{where}: {who} reads {section}.{block[section]}, which has no files of {corpus!r}; add them"


def _size_mistakes(config: Block, where: str, corpus: str, split: str, needed: int, what: str) -> Iterator[str]:
    """Too few images, where the config says how many there are."""
    block = config["corpora"][corpus]
    if block["reader"] == "toyworld" and (there := block["images"].get(split, 0)) < needed:
        yield f"{where}: {what} needs {needed} images of the split {split!r}, and corpora.{corpus}.images has {there}"


def _scorer_mistakes(config: Block, where: str, scorer: Block) -> Iterator[str]:
    yield from _files_mistakes(config, where, scorer, scorer["corpus"])
    if scorer["word_embeddings"] == "encoder" and "encoder" not in config["regions"][scorer["regions"]]:
        yield (
            f"{where}.word_embeddings is 'encoder', but regions.{scorer['regions']} are of no encoder that knows "
            "words; write `word_embeddings: random`"
        )
    yield from _size_mistakes(config, where, scorer["corpus"], "train", scorer["optimizer"]["batch"], "a batch")


def _evaluation_mistakes(config: Block, where: str, evaluation: Block) -> Iterator[str]:
    corpora, blocks = evaluation["corpora"], config["captioners"]
    for name in evaluation["scorers"]:
        for corpus in corpora:
            yield from _files_mistakes(config, where, config["scorers"][name], corpus)
    for corpus in corpora if evaluation["retrievers"] else []:
        split = config["corpora"][corpus]["evaluation_split"]
        yield from _size_mistakes(config, where, corpus, split, evaluation["candidates"], "a set of candidates")
    for captioner in evaluation["captioners"]:
        root, captions = blocks[root_of(config, captioner)], blocks[captioner].get("captions", dict.fromkeys(corpora))
        for corpus in corpora:
            yield from _files_mistakes(config, where, root, corpus, f"the captioner {captioner!r}")
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
        for captioner, corpus in product(evaluation["captioners"], evaluation["corpora"]):
            job = (captioner, corpus, evaluation.get("decoding", "given"))
            if (other := seen.setdefault(job, name)) != name:
                both = f"evaluations.{other} and evaluations.{name} both caption {corpus!r}"
                yield f"{both} with {captioner!r} by {job[2]!r}; keep it in one of them"


def _study_mistakes(config: Block, study: Block) -> Iterator[str]:
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
            yield from _files_mistakes(config, f"scene_analysis.{role}", block, scenes["corpus"], "the captioner")
    for key in ("regions", "tags") if all(block["family"] in able for block in blocks.values()) else ():
        read = {role: block[key] for role, block in blocks.items()}
        if len({*read.values()}) > 1:
            reads = " and ".join(f"scene_analysis.{role} reads {read[role]!r} ({roots[role]})" for role in ROLES)
            yield f"{reads}; they are compared on the same {key}, so name captioners that read the same"
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
