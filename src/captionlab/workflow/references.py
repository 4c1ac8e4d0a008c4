"""What the parts of a config say of each other: names that must exist, parents without cycles, batches that suffice."""

import difflib
from collections.abc import Iterator
from typing import Any

from captionlab.corpora.toyworld.domains import DOMAINS
from captionlab.roles import ROLES
from captionlab.workflow.blocks import GIVEN, Block, captioner_kind, plain_rewards, root_of, scorer_kind

# Families of captioners that read a vector for each place of an image.
READS_GRIDS = {"blip", "camel"}
# Families of encoders.
HAVE_GRIDS, HAVE_TEXT_SIDE = ("clip", "blip"), ("clip", "siglip")
# What a learning rate that falls in steps needs.
STAIRCASE = ("decay", "decay_epochs")


def reference_mistakes(config: Block) -> Iterator[str]:
    """One sentence for each reference that cannot be followed; the config must fit the schema."""
    for name, corpus in config["corpora"].items():
        yield from _corpus_mistakes(name, corpus)
    for name, encoder in config.get("encoders", {}).items():
        yield from _encoder_mistakes(config, name, encoder)
    for name, regions in config.get("regions", {}).items():
        yield from _regions_mistakes(config, f"regions.{name}", regions)
    for name, tags in config.get("tags", {}).items():
        yield from _tags_mistakes(config, f"tags.{name}", tags)
    for name, scorer in config.get("scorers", {}).items():
        yield from _scorer_mistakes(config, f"scorers.{name}", scorer)
    for name, captioner in config["captioners"].items():
        yield from _captioner_mistakes(config, name, captioner)
    for name, evaluation in config["evaluations"].items():
        yield from _evaluation_mistakes(config, f"evaluations.{name}", evaluation)
    yield from _repeated_evaluations(config["evaluations"])
    if language := config.get("language"):
        yield from _known(config, "evaluations", language["evaluation"], "language.evaluation")
        yield from _language_model_mistakes(config, language["model"])
        evaluated = config["evaluations"].get(language["evaluation"], {}).get("captioners", [])
        for name in language.get("caption_types", []):
            if name not in evaluated:
                yield (
                    f"language.caption_types has {name!r}, which is not among the captioners of "
                    f"evaluations.{language['evaluation']}"
                )
    if study := config.get("study"):
        yield from _study_mistakes(config, study)
    if scenes := config.get("scenes"):
        yield from _scenes_mistakes(config, scenes)
    for name, paper in config.get("papers", {}).items():
        if name not in ("probing", "scenes"):  # their captioners play roles: probing_references, scenes_paper
            yield from _paper_mistakes(config, f"papers.{name}", paper)


def _known(config: Block, section: str, name: str, where: str) -> Iterator[str]:
    names = config.get(section, {})
    if name not in names:
        yield f"{where} is {name!r}, which is not among the {section}; {_hint(name, names)}"


def _names(config: Block, section: str) -> str:
    return ", ".join(config.get(section, {})) or "none"


def _hint(name: str, names: Any) -> str:
    close = difflib.get_close_matches(name, list(names), n=1)
    return f"did you mean {close[0]!r}?" if close else f"there are {', '.join(names) or 'none'}"


def _corpus_mistakes(name: str, corpus: Block) -> Iterator[str]:
    if corpus["reader"] != "toyworld":
        return
    split = corpus.get("evaluation_split", "test")
    if split not in corpus["images"]:
        yield f"corpora.{name}: evaluations use the split {split!r}, but images names {', '.join(corpus['images'])}"
    if corpus["domain"] not in DOMAINS:
        hint = _hint(corpus["domain"], DOMAINS)
        yield f"corpora.{name}.domain is {corpus['domain']!r}, which the toy world does not have; {hint}"


def _encoder_mistakes(config: Block, name: str, encoder: Block) -> Iterator[str]:
    if encoder.get("family") == "siglip" and not (
        encoder.keys() >= {"weights", "tokenizer"} and "model" not in encoder
    ):
        yield f"encoders.{name} is imported from files: it needs weights and tokenizer, and no model"
        return
    training = ("architecture", "corpus", "optimizer")
    others = ("model", "heads", "quick_gelu", *training)
    if "grid_of" in encoder:
        yield from _grid_mistakes(config, name, encoder)
    elif "family" not in encoder:
        yield f"encoders.{name} lacks the key 'family', or 'grid_of' for the grid of another encoder"
    elif encoder["family"] == "blip" and ("weights" not in encoder or set(encoder) - {"family", "weights", "heads"}):
        yield f"encoders.{name} is a blip, which is read from a file; it has only `family`, `weights`, perhaps `heads`"
    elif encoder["family"] == "resnet" and ("weights" not in encoder or any(key in encoder for key in others)):
        yield f"encoders.{name} is a resnet, which is read from a file and has only `family` and `weights`"
    elif "weights" in encoder:
        if given := [key for key in training if key in encoder]:
            yield f"encoders.{name} has weights, so it is not trained here: drop {', '.join(given)}"
    elif missing := [key for key in training if key not in encoder]:
        yield f"encoders.{name} has no weights, so it is trained here and needs {', '.join(missing)}"
    else:
        yield from _known(config, "corpora", encoder["corpus"], f"encoders.{name}.corpus")


def _grid_mistakes(config: Block, name: str, encoder: Block) -> Iterator[str]:
    where, of = f"encoders.{name}", encoder["grid_of"]
    if given := sorted(set(encoder) - {"grid_of"}):
        yield f"{where} is the grid of {of!r}, so it has no keys of its own: drop {', '.join(given)}"
    yield from _known(config, "encoders", of, f"{where}.grid_of")
    source = config.get("encoders", {}).get(of, {})
    if source and source.get("family") not in HAVE_GRIDS:
        what = "a grid itself" if "grid_of" in source else f"a {source.get('family')}, whose grid is not to be had"
        yield f"{where}.grid_of is {of!r}, {what}; name a clip or a blip"


def _language_model_mistakes(config: Block, model: Block) -> Iterator[str]:
    training = ("corpus", "splits")
    if "arpa" in model:
        if given := [key for key in training if key in model]:
            yield f"language.model has arpa, so no model is trained here: drop {', '.join(given)}"
    elif missing := [key for key in training if key not in model]:
        yield f"language.model has no arpa, so it is trained here and needs {', '.join(missing)}"
    else:
        yield from _known(config, "corpora", model["corpus"], "language.model.corpus")


def _regions_mistakes(config: Block, where: str, regions: Block) -> Iterator[str]:
    if "encoder" in regions:
        yield from _known(config, "encoders", regions["encoder"], f"{where}.encoder")
    for corpus in regions.get("files", {}):
        yield from _known(config, "corpora", corpus, f"{where}.files")


def _tags_mistakes(config: Block, where: str, tags: Block) -> Iterator[str]:
    for source in ("regions", "files"):
        if (source in tags) != (tags["source"] == source):
            yield f"{where}: tags of the source {tags['source']} {'do not have' if source in tags else 'need'} {source}"
    if "regions" in tags:
        yield from _known(config, "regions", tags["regions"], f"{where}.regions")
    for corpus in tags.get("files", {}):
        yield from _known(config, "corpora", corpus, f"{where}.files")


def _scorer_mistakes(config: Block, where: str, scorer: Block) -> Iterator[str]:
    for section, key in (("encoders", "encoder"), ("regions", "regions"), ("corpora", "corpus")):
        if key in scorer:
            yield from _known(config, section, scorer[key], f"{where}.{key}")
    if scorer_kind(scorer) == "trained":
        yield from _known(config, "encoders", scorer["negatives"]["encoder"], f"{where}.negatives.encoder")
        yield from _regions_of(config, where, scorer, scorer["corpus"])
        regions = config.get("regions", {}).get(scorer["regions"], {})
        if scorer.get("word_embeddings") == "encoder" and regions and "encoder" not in regions:
            yield (
                f"{where}.word_embeddings is 'encoder', but regions.{scorer['regions']} are of no encoder that knows "
                "words; write `word_embeddings: random`"
            )
        yield from _size_mistakes(config, where, scorer["corpus"], "train", scorer["optimizer"]["batch"], "a batch")


def _regions_of(config: Block, where: str, block: Block, corpus: str, who: str = "the scorer") -> Iterator[str]:
    """Regions and tags that a scorer or captioner reads from files are there for the corpora that are named."""
    for section in ("regions", "tags"):
        files = config.get(section, {}).get(block.get(section, ""), {}).get("files")
        if files is not None and corpus not in files:
            yield f"{where}: {who} reads {section}.{block[section]}, which has no files of {corpus!r}; add them"


def _captioner_mistakes(config: Block, name: str, block: Block) -> Iterator[str]:
    where = f"captioners.{name}"
    if "parent" in block:
        yield from _parent_mistakes(config, name)
    if "corpus" in block:
        yield from _known(config, "corpora", block["corpus"], f"{where}.corpus")
        if "optimizer" in block:
            yield from _size_mistakes(config, where, block["corpus"], "train", block["optimizer"]["batch"], "a batch")
    for section, key in (("encoders", "encoder"), ("regions", "regions"), ("tags", "tags")):
        if key in block:
            yield from _known(config, section, block[key], f"{where}.{key}")
    if "encoder" in block:
        encoder, grids = config.get("encoders", {}).get(block["encoder"], {}), block["family"] in READS_GRIDS
        if encoder and ("grid_of" in encoder) != grids:
            wanted = (
                "a grid; name an encoder with `grid_of`" if grids else "one vector; name an encoder without `grid_of`"
            )
            yield f"{where}.encoder is {block['encoder']!r}, and {block['family']} reads of each image {wanted}"
    if "teacher" in block.get("objective", {}) and block.get("family") not in READS_GRIDS:
        yield f"{where}.objective.teacher is something that {' and '.join(sorted(READS_GRIDS))} can have; drop it"
    yield from _reader_mistakes(config, where, name, block)
    for corpus in block.get("captions", {}):
        yield from _known(config, "corpora", corpus, f"{where}.captions")
    if "optimizer" in block:
        yield from _optimizer_mistakes(where, block["optimizer"])
    if "scheduled_sampling" in block.get("objective", {}):
        family = None if _broken(config, name) else config["captioners"][root_of(config, name)]["family"]
        if family not in (None, "newfc"):
            yield f"{where}.objective.scheduled_sampling is something that newfc can do and {family} cannot; drop it"
    if validation := block.get("validation"):
        yield from _validation_mistakes(config, where, block, validation)
    if "reward" in block.get("objective", {}):
        yield from _reward_mistakes(config, where, block)


def _reader_mistakes(config: Block, where: str, name: str, block: Block) -> Iterator[str]:
    """What a captioner reads of images, and what it is trained by, suit its family."""
    if (family := _family_of(config, name)) is None or captioner_kind(block) in GIVEN:
        return
    if "corpus" in block and "optimizer" in block:
        root = config["captioners"][root_of(config, name)]
        yield from _regions_of(config, where, root, block["corpus"], "the captioner")
    for key in ("encoder", "regions", "tags"):
        if key in block and (key == "encoder") == (family == "vinvl"):
            yield f"{where}: a {family} reads {'regions and tags' if family == 'vinvl' else 'an encoder'}, not {key}"
    if block.get("objective", {}).get("kind") == "masked-tokens" and family != "vinvl":
        yield f"{where}.objective: {family} predicts no masked tokens; write `kind: cross-entropy`"
    if "stop_after" in block.get("optimizer", {}):
        optimizer = block["optimizer"]
        if optimizer["stop_after"] > optimizer.get("epochs", 0):
            yield f"{where}.optimizer.stop_after must be at most epochs, which it needs"


def _retriever_mistakes(config: Block, name: str, where: str) -> Iterator[str]:
    yield from _known(config, "encoders", name, where)
    encoder = config.get("encoders", {}).get(name, {})
    if encoder and encoder.get("family") not in HAVE_TEXT_SIDE:
        what = "a grid" if "grid_of" in encoder else f"a {encoder.get('family')}"
        yield f"{where} is {name!r}, {what}, which has no text side; name a {' or a '.join(HAVE_TEXT_SIDE)}"


def _family_of(config: Block, captioner: str) -> str | None:
    """The family of a captioner; None where it is unknown or the line of its parents is broken."""
    block = config["captioners"].get(captioner, {})
    if "parent" in block:
        block = {} if _broken(config, captioner) else config["captioners"][root_of(config, captioner)]
    return block.get("family")


def _broken(config: Block, captioner: str) -> bool:
    """Whether the line of parents does not lead to a captioner without one, which is a mistake of its own."""
    return any(True for _ in _parent_mistakes(config, captioner))


def _optimizer_mistakes(where: str, optimizer: Block) -> Iterator[str]:
    if optimizer.get("schedule") == "staircase" and (missing := [k for k in STAIRCASE if k not in optimizer]):
        yield f"{where}.optimizer: the schedule staircase needs {' and '.join(missing)}"
    if optimizer.get("schedule") != "staircase" and (given := [k for k in STAIRCASE if k in optimizer]):
        yield f"{where}.optimizer.{given[0]} is for `schedule: staircase`"


def _size_mistakes(config: Block, where: str, corpus: str, split: str, needed: int, what: str) -> Iterator[str]:
    """Too few images, where the config says how many there are."""
    block = config["corpora"].get(corpus, {})
    if block.get("reader") == "toyworld" and block["images"].get(split, 0) < needed:
        there = block["images"].get(split, 0)
        yield f"{where}: {what} needs {needed} images of the split {split!r}, and corpora.{corpus}.images has {there}"


def _parent_mistakes(config: Block, name: str) -> Iterator[str]:
    captioners, seen = config["captioners"], [name]
    while "parent" in captioners[seen[-1]]:
        parent = captioners[seen[-1]]["parent"]
        if parent not in captioners:
            if len(seen) == 1:
                yield from _known(config, "captioners", parent, f"captioners.{name}.parent")
            return
        if parent in seen:
            line = " -> ".join([*seen, parent])
            yield f"captioners.{name} is its own ancestor ({line}); one of them needs a family instead of a parent"
            return
        seen.append(parent)
    if captioner_kind(captioners[seen[-1]]) in GIVEN:
        family = captioners[seen[-1]]["family"]
        yield f"captioners.{name} cannot be finetuned: {seen[-1]!r} is a {family} captioner and has no weights"


def _validation_mistakes(config: Block, where: str, block: Block, validation: Block) -> Iterator[str]:
    yield from _known(config, "decodings", validation["decoding"], f"{where}.validation.decoding")
    yield from _size_mistakes(config, where, block["corpus"], validation["split"], 1, "validation")
    if config.get("decodings", {}).get(validation["decoding"], {}).get("kind") == "sample":
        yield f"{where}.validation.decoding draws at random; validation needs greedy decoding or a beam search"
    if block["optimizer"].get("steps", validation["every"]) < validation["every"]:
        yield f"{where}.validation.every is {validation['every']} and there are {block['optimizer']['steps']} updates"


def _reward_mistakes(config: Block, where: str, block: Block) -> Iterator[str]:
    objective, batch = block["objective"], block["optimizer"]["batch"]
    yield from _known(config, "decodings", objective["decoding"], f"{where}.objective.decoding")
    kind = config.get("decodings", {}).get(objective["decoding"], {}).get("kind")
    if objective["kind"] == "reinforce" and kind == "beam":
        yield f"{where}.objective.decoding is a beam search; REINFORCE needs greedy decoding or sampling"
    if objective["kind"] == "self-critical" and kind not in ("greedy", None):
        yield f"{where}.objective.decoding must be greedy: it makes the baseline, and samples end as it does"
    if objective.get("baseline") == "leave-one-out" and objective.get("samples", 5) < 2:
        yield f"{where}.objective: the baseline leave-one-out needs at least 2 samples"
    for place, reward in plain_rewards(objective["reward"], f"{where}.objective.reward"):
        if "scorer" in reward:
            yield from _known(config, "scorers", reward["scorer"], f"{place}.scorer")
            scorer = config.get("scorers", {}).get(reward["scorer"], {})
            yield from _regions_of(config, f"{place}.scorer", scorer, block["corpus"])
        if "retriever" not in reward:
            continue
        yield from _retriever_mistakes(config, reward["retriever"], f"{place}.retriever")
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


def _evaluation_mistakes(config: Block, where: str, evaluation: Block) -> Iterator[str]:
    if "decoding" in evaluation:
        yield from _known(config, "decodings", evaluation["decoding"], f"{where}.decoding")
    for retriever in evaluation.get("retrievers", []):
        yield from _retriever_mistakes(config, retriever, f"{where}.retrievers")
    for name in evaluation.get("scorers", []):
        yield from _known(config, "scorers", name, f"{where}.scorers")
        for corpus in evaluation["corpora"]:
            yield from _regions_of(config, where, config.get("scorers", {}).get(name, {}), corpus)
    for corpus in evaluation["corpora"]:
        yield from _known(config, "corpora", corpus, f"{where}.corpora")
        if evaluation.get("retrievers"):
            split = config["corpora"].get(corpus, {}).get("evaluation_split", "test")
            yield from _size_mistakes(
                config, where, corpus, split, evaluation.get("candidates", 100), "a set of candidates"
            )
    for captioner in evaluation["captioners"]:
        yield from _known(config, "captioners", captioner, f"{where}.captioners")
        block = config["captioners"].get(captioner, {})
        if _family_of(config, captioner) == "vinvl":
            root = config["captioners"][root_of(config, captioner)]
            for corpus in evaluation["corpora"]:
                yield from _regions_of(config, where, root, corpus, f"the captioner {captioner!r}")
        if "captions" in block and (absent := [c for c in evaluation["corpora"] if c not in block["captions"]]):
            missing = f"captioners.{captioner}.captions.{absent[0]}"
            yield f"{where}: the captioner {captioner!r} has no captions for {', '.join(absent)}; add {missing}"
    kinds = {captioner_kind(config["captioners"].get(c, {"family": "file"})) for c in evaluation["captioners"]}
    if "decoding" not in evaluation and not kinds <= GIVEN:
        yield f"{where} has captioners that generate, so it needs a decoding; there are {_names(config, 'decodings')}"
    if evaluation.get("retrievers") or evaluation.get("scorers") or not kinds <= GIVEN:
        for corpus in evaluation["corpora"]:
            if config["corpora"].get(corpus, {}).get("images", "") is None:
                yield (
                    f"{where}: the corpus {corpus!r} is text only (images: null), "
                    "so no captioner can describe it, no retriever search in it and no scorer look at it"
                )


def _repeated_evaluations(evaluations: Block) -> Iterator[str]:
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


def _paper_mistakes(config: Block, where: str, paper: Block) -> Iterator[str]:
    evaluated = {name for evaluation in config["evaluations"].values() for name in evaluation["captioners"]}
    for label, name in paper["captioners"].items():
        yield from _known(config, "captioners", name, f"{where}.captioners.{label}")
        if name in config["captioners"] and name not in evaluated:
            yield f"{where}.captioners.{label} is {name!r}, which no evaluation names; add it to one"
    for label, name in paper["corpora"].items():
        yield from _known(config, "corpora", name, f"{where}.corpora.{label}")
    for name in paper.get("retrievers", []):
        yield from _known(config, "encoders", name, f"{where}.retrievers")
    for name in paper.get("evaluations", []):
        yield from _known(config, "evaluations", name, f"{where}.evaluations")
    yield from _several_evaluations(config, where, paper)
    for name, ablation in paper.get("ablations", {}).items():
        yield from _ablation_mistakes(config, f"{where}.ablations.{name}", ablation)


def _several_evaluations(config: Block, where: str, paper: Block) -> Iterator[str]:
    """A table shows one value in each place, so it must be said of which evaluation."""
    shown = {name: config["evaluations"].get(name) for name in paper.get("evaluations") or config["evaluations"]}
    for captioner in dict.fromkeys(paper["captioners"].values()):
        for corpus in dict.fromkeys(paper["corpora"].values()):
            found = [n for n, e in shown.items() if e and captioner in e["captioners"] and corpus in e["corpora"]]
            if len(found) > 1:
                yield (
                    f"{where}: the captions of {captioner!r} on {corpus!r} are in the evaluations "
                    f"{' and '.join(found)}; name the one that its tables show under {where}.evaluations"
                )
                return


def _ablation_mistakes(config: Block, where: str, ablation: Block) -> Iterator[str]:
    yield from _known(config, "evaluations", ablation["evaluation"], f"{where}.evaluation")
    evaluation = config["evaluations"].get(ablation["evaluation"], {})
    if ablation["reference"] not in ablation["captioners"]:
        yield f"{where}.reference is {ablation['reference']!r}, which is not among the labels of its captioners"
    seeds = {label: 1 if isinstance(names, str) else len(names) for label, names in ablation["captioners"].items()}
    wanted = seeds.get(ablation["reference"], 1)
    for label, number in seeds.items():
        if wanted > 1 and number not in (1, wanted):
            yield (
                f"{where}.captioners.{label} has {number} captioners and the reference {wanted}; they are compared "
                "seed by seed, so name as many, or one"
            )
    if evaluation and not evaluation.get("retrievers"):
        yield f"evaluations.{ablation['evaluation']} needs `retrievers`: {where} is about what they find"
    for section in ("captioners", "corpora"):
        for label, names in ablation[section].items():
            for name in [names] if isinstance(names, str) else names:
                yield from _known(config, section, name, f"{where}.{section}.{label}")
                if name in config[section] and name not in evaluation.get(section, [name]):
                    yield (
                        f"{where}.{section}.{label} is {name!r}, which is not in "
                        f"evaluations.{ablation['evaluation']}.{section}; add it there"
                    )


def _study_mistakes(config: Block, study: Block) -> Iterator[str]:
    for key, section in (("corpus", "corpora"), ("evaluation", "evaluations"), ("encoder", "encoders")):
        yield from _known(config, section, study[key], f"study.{key}")
    if "simulated" in study:
        yield from _known(config, "encoders", study["simulated"]["retriever"], "study.simulated.retriever")
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


def _scenes_mistakes(config: Block, scenes: Block) -> Iterator[str]:
    yield from _known(config, "corpora", scenes["corpus"], "scenes.corpus")
    yield from _known(config, "decodings", scenes["decoding"], "scenes.decoding")
    if config.get("decodings", {}).get(scenes["decoding"], {}).get("kind") == "sample":
        yield "scenes.decoding draws at random; captions before and after ablation are compared, so write a beam search"
    for role in ROLES:
        name = scenes[role]
        yield from _known(config, "captioners", name, f"scenes.{role}")
        if (family := _family_of(config, name)) not in (None, "vinvl"):
            yield f"scenes.{role} is {name!r}, a {family} captioner; only vinvl attends to tags"
        elif family:
            root = config["captioners"][root_of(config, name)]
            yield from _regions_of(config, f"scenes.{role}", root, scenes["corpus"], "the captioner")
    labels = scenes.get("labels", {})
    reader = config["corpora"].get(scenes["corpus"], {}).get("reader")
    if labels.get("table", "scenes") == "scenes" and reader not in (None, "hl", "toyworld"):
        yield (
            f"scenes.corpus is {scenes['corpus']!r}, which has no scene captions; "
            "write scenes.labels: {table: captions} to find scenes in its references"
        )
    there = len(labels["names"]) if "names" in labels else labels.get("number")
    probed = scenes.get("probing", {}).get("scenes")
    if there and probed and probed > there:
        yield f"scenes.probing.scenes is {probed}, and scenes.labels has {there} scenes; make these as many"
