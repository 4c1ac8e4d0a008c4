"""Checks of a config across its blocks: parents, objectives, splits and sizes.

The config must fit the models, so that every name leads to a block, and must have all defaults.
"""

import shlex
from collections.abc import Iterator
from importlib.util import find_spec
from itertools import product

from captionlab import plugins
from captionlab.config.blocks import (
    ENDPOINT,
    GIVEN,
    TRAINING_DECODINGS,
    WRITER,
    Block,
    captioner_kind,
    has_captions,
    model_kind,
    root_of,
)
from captionlab.config.engines import engine_mistakes
from captionlab.config.families import (
    answerers,
    captioners,
    judgement_readers,
    question_readers,
    readers,
    rewards_in,
    score_tables,
)
from captionlab.config.judges import JUDGES
from captionlab.config.language_mistakes import language_mistakes
from captionlab.config.names import a_family, hint
from captionlab.config.needs import Need, image_needs, splits_of
from captionlab.config.roles import ROLES
from captionlab.config.snapshots import snapshot_mistakes
from captionlab.tracking.tracker import PROGRAMS, installation


def reference_mistakes(config: Block) -> Iterator[str]:
    """Yield one sentence for each mistake between blocks of a config."""
    # The mistakes of a snapshot are reported for its training.
    captioners = {name: block for name, block in config["captioners"].items() if "snapshot" not in block}
    if broken := [mistake for name in captioners for mistake in _parent_mistakes(config, name)]:
        yield from broken
        return
    for name, corpus in config["corpora"].items():
        split = corpus["evaluation_split"]
        if corpus["reader"] == "toyworld" and split not in corpus["images"]:
            named = ", ".join(map(str, corpus["images"]))
            yield f"corpora.{name}: evaluations use the split {split!r}, but images names {named}"
    for name, encoder in config["encoders"].items():
        if model_kind(encoder) == "trained":
            yield from _encoder_mistakes(config, f"encoders.{name}", encoder)
    for name, scorer in config["scorers"].items():
        if model_kind(scorer) == "trained":
            yield from _scorer_mistakes(config, f"scorers.{name}", scorer)
    for name, captioner in captioners.items():
        yield from _captioner_mistakes(config, name, captioner)
    for name, evaluation in config["evaluations"].items():
        yield from _evaluation_mistakes(config, f"evaluations.{name}", evaluation)
    for need in image_needs(config):
        yield from _size_mistakes(config, need)
    yield from _repeated_evaluations(config["evaluations"])
    for name, block in config["judgements"].items():
        yield from _judgement_mistakes(config, f"judgements.{name}", block)
    for name, block in config["comparisons"].items():
        yield from _comparison_mistakes(config, f"comparisons.{name}", block)
    yield from language_mistakes(config)
    yield from _command_mistakes(config["metrics"])
    yield from _judge_mistakes(config)
    yield from _question_mistakes(config)
    if (program := config["tracking"]) in PROGRAMS and not find_spec(program):
        yield f"tracking is {program}, which is not installed: {installation(program)}"
    if study := config.get("study"):
        yield from _study_mistakes(config, study)
    if learnt := config.get("language", {}).get("model", {}).get("corpus"):
        yield from _caption_mistakes(config, "language.model", learnt, "no language model learns from them")
    if validity := config.get("validity"):
        yield from _validity_mistakes(config, validity["corpus"])
    if scenes := config.get("scene_analysis"):
        yield from _scene_analysis_mistakes(config, scenes)


def _parent_mistakes(config: Block, name: str) -> Iterator[str]:
    """Yield a sentence if a captioner is its own ancestor, or if its oldest ancestor has no weights."""
    blocks, line = config["captioners"], [name]
    while parent := blocks[line[-1]].get("parent"):
        if parent in line:
            circle = " -> ".join([*line, parent])
            yield f"captioners.{name} is its own ancestor ({circle}); one of them needs a family instead of a parent"
            return
        line.append(parent)
    if len(line) > 1 and captioner_kind(blocks[line[-1]]) in {*GIVEN, ENDPOINT, WRITER}:
        family = blocks[line[-1]]["family"]
        yield f"captioners.{name} cannot be finetuned: {line[-1]!r} is of the family {family} and has no weights"


def _captioner_mistakes(config: Block, name: str, block: Block) -> Iterator[str]:
    """Yield one sentence for each mistake in the block of a captioner."""
    where = f"captioners.{name}"
    if block.get("family") == "constructed":
        yield from _construction_mistakes(config, name, block)
    # A captioner of another run reads the encoder of that run, so its image side is not checked.
    published = "weights" in block and "run" not in block
    if published and "encoder" in block and captioners()[block["family"]].folder:
        yield from _image_side_mistakes(config, where, block)
    if "objective" not in block:
        return
    corpus, objective, optimizer = block["corpus"], block["objective"], block["optimizer"]
    root = config["captioners"][root_of(config, name)]
    yield from _training_mistakes(config, where, block)
    yield from _files_mistakes(config, where, root, corpus, "the captioner")
    yield from _objective_mistakes(where, root["family"], objective)
    if "parent" in block:
        yield from engine_mistakes(config, name, block)
    for part, key in TRAINING_DECODINGS:
        if decoding := block.get(part, {}).get(key):
            yield from _decoding_mistakes(config, f"{where}.{part}", name, decoding)
    every = block.get("validation", {}).get("every", 0)
    if optimizer.get("steps", every) < every:
        yield f"{where}.validation.every is {every} and there are {optimizer['steps']} updates"
    if "reward" in objective:
        yield from _reward_mistakes(config, where, block)


def _image_side_mistakes(config: Block, where: str, block: Block) -> Iterator[str]:
    """Yield a sentence for each key in which an encoder differs from the image side of a model of the hub."""
    encoder = config["encoders"][block["encoder"]]["patches_of"]
    sees = config["encoders"][encoder]
    wanted = {"family": "image-side", **{key: block.get(key) for key in ("weights", "processor")}}
    for key, value in wanted.items():
        if sees.get(key) != value:
            change = f"leave {key} out there" if value is None else f"write {key}: {value!r} there"
            yield (
                f"{where} reads patches of encoders.{encoder}, whose {key} is {sees.get(key)!r}; it learnt by its own, "
                f"so {change}, or name another encoder"
            )


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
    """Yield one sentence for each part of an objective that does not suit the family of the captioner."""
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
    if objective.get("baseline") == "leave-one-out" and ("search" in objective or objective["samples"] < 2):
        yield f"{where}.objective: the baseline leave-one-out needs at least 2 samples"
    for place, reward in rewards_in(objective["reward"], f"{where}.objective.reward"):
        if "scorer" in reward:
            scorer = config["scorers"][reward["scorer"]]
            yield from _files_mistakes(config, f"{place}.scorer", scorer, block["corpus"])
        if "questions" in reward and block["corpus"] not in config["questions"][reward["questions"]]["corpora"]:
            yield f"{place}: {_no_questions(config, reward['questions'])} {block['corpus']!r}; add it there"
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
            fewer = f" or `reward: {{candidates: {batch + hard}}}`" if batch + hard > 1 else ""  # two are the least
            yield (
                f"{where}: distractors come from the batch, and a batch of {batch} is {what} {reward['candidates']} "
                f"candidates{less}; write `optimizer: {{batch: {enough}}}`{fewer}"
            )


def _files_mistakes(config: Block, where: str, block: Block, corpus: str, who: str = "the scorer") -> Iterator[str]:
    """Yield a sentence if the regions or tags that a scorer or captioner reads have no files for a corpus."""
    for section in ("regions", "tags"):
        if section in block and corpus not in config[section][block[section]].get("files", {corpus: None}):
            yield f"{where}: {who} reads {section}.{block[section]}, which has no files of {corpus!r}; add them"


def _size_mistakes(config: Block, need: Need) -> Iterator[str]:
    """Yield a sentence if a corpus lacks a split, or if a split of the toy world has too few images."""
    block, split = config["corpora"][need.corpus], need.split
    splits, needs = splits_of(block), f"{need.block}: {need.what} needs"
    if block["reader"] == "toyworld" and (there := block["images"].get(split, 0)) < need.images:
        yield f"{needs} {need.images} images of the split {split!r}, and corpora.{need.corpus}.images has {there}"
    elif splits and split not in splits:
        lacking = f"{needs} images of the split {split!r}, which corpora.{need.corpus}.annotations has not"
        yield f"{lacking}; {hint(split, splits)}"


def _training_mistakes(config: Block, where: str, block: Block) -> Iterator[str]:
    """Yield one sentence for each mistake in a training: its corpus, batches, updates, dropout and snapshots."""
    optimizer, dropped = block["optimizer"], block.get("lora", {}).get("dropout")
    if dropped and (objective := block.get("objective")):
        facts = plugins.facts("training.objectives")[objective["kind"]]
        if not objective.get("dropout", facts.dropout):
            yield f"{where}.lora.dropout is {dropped}, and its objective trains without dropout; leave it out"
    if config["corpora"][block["corpus"]].get("images", "") is None:
        yield f"{where}: the corpus {block['corpus']!r} is text only (images: null), so nothing can be trained on it"
    yield from _caption_mistakes(config, where, block["corpus"], "nothing can be trained on it")
    yield from snapshot_mistakes(where, block)
    if (warmup := optimizer["warmup"]) > (steps := optimizer.get("steps", warmup)):
        yield f"{where}.optimizer.warmup is {warmup} and there are {steps} updates; set it to {steps} or less"
    if (parts := optimizer["accumulate"]) > (batch := optimizer["batch"]):
        yield f"{where}.optimizer.accumulate is {parts}, more than there is in a batch; set it to {batch} or less"


def _caption_mistakes(config: Block, where: str, corpus: str, so: str) -> Iterator[str]:
    """Yield a sentence if a corpus has no captions although they are needed; `so` is the consequence."""
    if not has_captions(config["corpora"][corpus]):
        yield f"{where}: the corpus {corpus!r} has no captions (captions: null), so {so}"


def _decoding_mistakes(config: Block, where: str, captioner: str, decoding: str) -> Iterator[str]:
    """Yield a sentence if a decoding has rules that the captioner cannot follow, or too many tokens for its positions.

    The positions of imported captioners are not checked here, because only their weights say how many they have.
    """
    root, described = root_of(config, captioner), config["decodings"][decoding]
    block = config["captioners"][root]
    facts, asked = captioners().get(block.get("family", "")), described["max_tokens"]
    served = captioner_kind(block) == ENDPOINT
    if served and described["kind"] == "beam":
        yield f"{where}: decodings.{decoding} is a beam search, which the server of {captioner!r} does not have"
    elif (served or (facts and facts.generates)) and described.get("rules", "transformers") != "transformers":
        writer = "a server" if served else "`generate` of transformers"
        yield (
            f"{where}: decodings.{decoding}.rules is {described['rules']!r}, and {writer} writes the captions of "
            f"{captioner!r}; name a decoding without `rules`"
        )
    if facts is None or "architecture" not in block or not (parts := facts.longest):
        return
    longest = sum(times * {**block["architecture"], "": 1}[key] for key, times in parts.items())
    if asked > longest:
        sizes = " and ".join(filter(None, parts))
        has = f"captioners.{root}.architecture has room for {longest} by its {sizes}"
        yield f"{where}: decodings.{decoding}.max_tokens is {asked}, and {has}; lower max_tokens"


def _encoder_mistakes(config: Block, where: str, encoder: Block) -> Iterator[str]:
    """Yield one sentence for each reason why a CLIP cannot be trained, or cannot be built by open_clip.

    The defaults of the architecture are the defaults of open_clip.
    """
    yield from _training_mistakes(config, where, encoder)
    if encoder["optimizer"]["accumulate"] > 1:
        yield f"{where}.optimizer.accumulate must be 1: the other pairs of the whole batch are the contrast"
    architecture, where = encoder["architecture"], f"{where}.architecture"
    tower = architecture["vision_cfg"]
    resnet, head = isinstance(tower["layers"], list), tower.get("head_width", 64)
    if (width := tower["width"] * (32 if resnet else 1)) % head:
        yield f"{where}.vision_cfg.head_width is {head}, which does not divide {'32 times ' * resnet}its width, {width}"
    if tower["image_size"] % (patch := 32 if resnet else tower.get("patch_size", 16)):
        which = "32, by which a ResNet makes images smaller" if resnet else f"patch_size, {patch}"
        yield f"{where}.vision_cfg.image_size is {tower['image_size']}, no multiple of {which}"
    text = {"width": 512, "heads": 8, **architecture["text_cfg"]}
    if text["width"] % text["heads"]:
        yield f"{where}.text_cfg.heads is {text['heads']}, which does not divide its width, {text['width']}"


def _scorer_mistakes(config: Block, where: str, scorer: Block) -> Iterator[str]:
    yield from _files_mistakes(config, where, scorer, scorer["corpus"])
    if scorer["word_embeddings"] == "encoder" and "encoder" not in config["regions"][scorer["regions"]]:
        yield (
            f"{where}.word_embeddings is 'encoder', but regions.{scorer['regions']} are of no encoder that knows "
            "words; write `word_embeddings: random`"
        )
    yield from _training_mistakes(config, where, scorer)
    if (asked := scorer.get("max_tokens", 0)) > (positions := scorer["architecture"]["positions"]):
        yield f"{where}.max_tokens is {asked}, and its architecture has {positions} positions; lower it to that"


def _evaluation_mistakes(config: Block, where: str, evaluation: Block) -> Iterator[str]:
    corpora, blocks = evaluation["corpora"], config["captioners"]
    for name in evaluation["scorers"]:
        for corpus in corpora:
            yield from _files_mistakes(config, where, config["scorers"][name], corpus)
    for captioner in evaluation["captioners"]:
        if "decoding" in evaluation:
            yield from _decoding_mistakes(config, where, captioner, evaluation["decoding"])
        root, captions = blocks[root_of(config, captioner)], blocks[captioner].get("captions", dict.fromkeys(corpora))
        for corpus in corpora:
            yield from _files_mistakes(config, where, root, corpus, f"the captioner {captioner!r}")
            if captioner_kind(root) in ("human", "constructed"):
                so = f"the captioner {captioner!r}, which is made of them, is not to be had there"
                yield from _caption_mistakes(config, where, corpus, so)
        if absent := [corpus for corpus in corpora if corpus not in captions]:
            missing = f"captioners.{captioner}.captions.{absent[0]}"
            yield f"{where}: the captioner {captioner!r} has no captions for {', '.join(absent)}; add {missing}"
    yield from _judging_mistakes(config, where, evaluation)
    kinds = {captioner_kind(blocks[captioner]) for captioner in evaluation["captioners"]}
    for name in evaluation["questions"]:
        if not {*corpora} & {*config["questions"][name]["corpora"]}:
            yield f"{where}: {_no_questions(config, name)} {', '.join(corpora)}; add the corpus there that is meant"
    if "decoding" not in evaluation and kinds - GIVEN - {WRITER}:
        there = ", ".join(config["decodings"]) or "none"
        yield f"{where} has captioners that generate, so it needs a decoding; there are {there}"
    seeing = (key for table in score_tables().values() if "encoders" in table.reads for key in table.asks)
    if kinds - GIVEN or any(evaluation[key] for key in ("retrievers", "scorers", *seeing)):
        for corpus in corpora:
            if config["corpora"][corpus].get("images", "") is None:
                yield (
                    f"{where}: the corpus {corpus!r} is text only (images: null), "
                    "so no captioner can describe it, no encoder search in it and no scorer look at it"
                )


def _no_questions(config: Block, name: str) -> str:
    """Return the beginning of a sentence about a corpus that a set of questions does not name."""
    return f"questions.{name}.corpora is {', '.join(config['questions'][name]['corpora'])}, without"


def _question_mistakes(config: Block) -> Iterator[str]:
    """Yield one sentence for each set of questions whose reader does not suit its corpora or its answerer."""
    for name, block in config["questions"].items():
        rendered = question_readers()[block["reader"]].rendered
        others = [corpus for corpus in block["corpora"] if config["corpora"][corpus]["reader"] != "toyworld"]
        if rendered and others:
            yield (
                f"questions.{name}.reader is {block['reader']!r}, for which it must be known what an image shows, and "
                f"corpora.{others[0]} is not of the toy world; name corpora that are, or a reader of questions in files"
            )
        kind = block["answerer"]["kind"]
        if answerers()[kind].of_toyworld and not rendered:
            able = [other for other, facts in answerers().items() if not facts.of_toyworld]
            yield (
                f"questions.{name}.answerer.kind is {kind!r}, which only understands questions of the reader toyworld; "
                f"write {' or '.join(able)}"
            )


def _judgement_mistakes(config: Block, where: str, block: Block) -> Iterator[str]:
    if not judgement_readers()[block["reader"]].foils:  # a foil is held against a caption of its own
        yield from _caption_mistakes(config, where, block["corpus"], "judged captions cannot be held against any")
    scored = {**block, "captioners": [], "corpora": [block["corpus"]], "retrievers": []}
    yield from _evaluation_mistakes(config, where, scored)
    if not judgement_readers()[block["reader"]].simulated:
        return
    if config["corpora"][block["corpus"]]["reader"] != "toyworld":
        yield (
            f"{where}.reader is {block['reader']!r}, for which it must be known what an image shows, and corpora."
            f"{block['corpus']} is not of the toy world; name one that is, or a reader of what people judged"
        )


def _comparison_mistakes(config: Block, where: str, block: Block) -> Iterator[str]:
    evaluation = config["evaluations"][block["evaluation"]]
    names = block.get("captioners", evaluation["captioners"])
    if sum(len(config["captioners"][name].get("seeds", [name])) for name in names) < 2:
        yield f"{where} compares the captions of {names[0]!r} alone; name another captioner of its evaluation"
    for corpus in evaluation["corpora"]:
        if block["shows"] == "image" and config["corpora"][corpus].get("images", "") is None:
            yield f"{where}: the corpus {corpus!r} is text only (images: null); write shows: references"
        if block["shows"] == "references":
            yield from _caption_mistakes(config, where, corpus, "no references can be shown; write shows: image")
    if block["shows"] == "references":
        for name in names:
            if config["captioners"][name].get("family") == "human":
                yield (
                    f"{where} shows references, of which the captions of {name!r} are one; leave it out, or write "
                    "shows: image"
                )


def _repeated_evaluations(evaluations: Block) -> Iterator[str]:
    """Yield one sentence for each set of captions that two evaluations would both make."""
    seen: dict[tuple[str, str, str], str] = {}
    for name, evaluation in evaluations.items():
        for captioner, corpus in product(evaluation["captioners"], evaluation["corpora"]):
            job = (captioner, corpus, evaluation.get("decoding", "given"))
            if (other := seen.setdefault(job, name)) != name:
                both = f"evaluations.{other} and evaluations.{name} both caption {corpus!r}"
                yield f"{both} with {captioner!r} by {job[2]!r}; keep it in one of them"


def _command_mistakes(metrics: Block) -> Iterator[str]:
    """Yield one sentence for each command that cannot be split into words or has the name of a metric of captionlab."""
    taken = {metric: table for table, declared in score_tables().items() for metric in declared.taken}
    for name, block in metrics.items():
        if name in taken:
            yield f"metrics.{name} is called as a metric of captionlab ({taken[name]}); give it another name"
        try:
            shlex.split(block["command"])
        except ValueError as error:
            said = str(error).lower()
            yield f"metrics.{name}.command is {block['command']!r}: {said}; quote its words as a shell reads them"


def _judge_mistakes(config: Block) -> Iterator[str]:
    """Yield one sentence for each judge that is called as a metric of captionlab or as a command."""
    taken = {metric: table for table, declared in score_tables().items() for metric in declared.taken}
    for name in config["judges"]:
        if name in taken:
            yield f"judges.{name} is called as a metric of captionlab ({taken[name]}); give it another name"
        if name in config["metrics"]:
            yield f"judges.{name} and metrics.{name} have one name in tables; rename one of them"


def _judging_mistakes(config: Block, where: str, evaluation: Block) -> Iterator[str]:
    """Yield one sentence for each corpus of an evaluation that lacks what a judge reads: captions or images."""
    for name, corpus in product(evaluation["judges"], evaluation["corpora"]):
        asked, block = config["judges"][name], config["corpora"][corpus]
        judge = JUDGES[asked["kind"]].model_construct(**asked)  # its own mistakes are reported elsewhere
        if judge.reads_references and not has_captions(block):
            yield (
                f"{where}.judges: {name!r} compares captions with references, and the corpus {corpus!r} has none "
                "(captions: null); name a judge that reads none"
            )
        if judge.sees_images and block.get("images", "") is None:
            yield f"{where}.judges: {name!r} looks at images, and the corpus {corpus!r} is text only (images: null)"


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
            yield from _decoding_mistakes(config, f"scene_analysis.{role}", scenes[role], scenes["decoding"])
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
    yield from _caption_mistakes(config, "scene_analysis", scenes["corpus"], "nothing says which scene is in an image")
    reader = corpus["reader"]
    if scenes["labels"]["table"] == "scene_captions" and not (reader == "toyworld" or readers()[reader].scenes):
        yield (
            f"scene_analysis.corpus is {scenes['corpus']!r}, which has no scene captions; "
            "write scene_analysis.labels: {table: captions} to find scenes in its references"
        )
