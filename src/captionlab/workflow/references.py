"""What the parts of a config say of each other: names that must lead somewhere, what must fit."""

from collections.abc import Iterator

from captionlab.corpora.toyworld.domains import DOMAINS
from captionlab.workflow.blocks import Block, scorer_kind
from captionlab.workflow.captioner_references import captioner_mistakes
from captionlab.workflow.evaluation_references import (
    evaluation_mistakes,
    repeated_evaluations,
    scene_analysis_mistakes,
    study_mistakes,
    validity_mistakes,
)
from captionlab.workflow.families import encoders
from captionlab.workflow.names import a_family, files_mistakes, hint, known, size_mistakes


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
        yield from captioner_mistakes(config, name, captioner)
    for name, evaluation in config["evaluations"].items():
        yield from evaluation_mistakes(config, f"evaluations.{name}", evaluation)
    yield from repeated_evaluations(config["evaluations"])
    if language := config.get("language"):
        yield from known(config, "evaluations", language["evaluation"], "language.evaluation")
        for evaluation in language.get("fluency", []):
            yield from known(config, "evaluations", evaluation, "language.fluency")
        yield from _language_model_mistakes(config, language["model"])
        evaluated = config["evaluations"].get(language["evaluation"], {}).get("captioners", [])
        for name in language.get("caption_types", []):
            if name not in evaluated:
                yield (
                    f"language.caption_types has {name!r}, which is not among the captioners of "
                    f"evaluations.{language['evaluation']}"
                )
    if study := config.get("study"):
        yield from study_mistakes(config, study)
    if validity := config.get("validity"):
        yield from validity_mistakes(config, validity)
    if scenes := config.get("scene_analysis"):
        yield from scene_analysis_mistakes(config, scenes)


def _corpus_mistakes(name: str, corpus: Block) -> Iterator[str]:
    if corpus["reader"] != "toyworld":
        return
    split = corpus.get("evaluation_split", "test")
    if split not in corpus["images"]:
        yield f"corpora.{name}: evaluations use the split {split!r}, but images names {', '.join(corpus['images'])}"
    if corpus["domain"] not in DOMAINS:
        near = hint(corpus["domain"], DOMAINS)
        yield f"corpora.{name}.domain is {corpus['domain']!r}, which the toy world does not have; {near}"


def _encoder_mistakes(config: Block, name: str, encoder: Block) -> Iterator[str]:
    if "corpus" in encoder:
        yield from known(config, "corpora", encoder["corpus"], f"encoders.{name}.corpus")
    if "patches_of" not in encoder:
        return
    where, of = f"encoders.{name}.patches_of", encoder["patches_of"]
    yield from known(config, "encoders", of, where)
    source = config.get("encoders", {}).get(of, {})
    if source and not (source.get("family") and encoders()[source["family"]].patches):
        what = "a grid itself" if "patches_of" in source else f"a {source['family']}, whose grid is not to be had"
        yield f"{where} is {of!r}, {what}; name {a_family(name for name, of in encoders().items() if of.patches)}"


def _language_model_mistakes(config: Block, model: Block) -> Iterator[str]:
    training = ("corpus", "splits")
    if "arpa" in model:
        if given := [key for key in training if key in model]:
            yield f"language.model has arpa, so no model is trained here: drop {', '.join(given)}"
    elif missing := [key for key in training if key not in model]:
        yield f"language.model has no arpa, so it is trained here and needs {', '.join(missing)}"
    else:
        yield from known(config, "corpora", model["corpus"], "language.model.corpus")


def _regions_mistakes(config: Block, where: str, regions: Block) -> Iterator[str]:
    if "encoder" in regions:
        yield from known(config, "encoders", regions["encoder"], f"{where}.encoder")
    for corpus in regions.get("files", {}):
        yield from known(config, "corpora", corpus, f"{where}.files")


def _tags_mistakes(config: Block, where: str, tags: Block) -> Iterator[str]:
    for source in ("regions", "files"):
        if (source in tags) != (tags["source"] == source):
            yield f"{where}: tags of the source {tags['source']} {'do not have' if source in tags else 'need'} {source}"
    if "regions" in tags:
        yield from known(config, "regions", tags["regions"], f"{where}.regions")
    for corpus in tags.get("files", {}):
        yield from known(config, "corpora", corpus, f"{where}.files")


def _scorer_mistakes(config: Block, where: str, scorer: Block) -> Iterator[str]:
    for section, key in (("encoders", "encoder"), ("regions", "regions"), ("corpora", "corpus")):
        if key in scorer:
            yield from known(config, section, scorer[key], f"{where}.{key}")
    if scorer_kind(scorer) == "trained":
        yield from known(config, "encoders", scorer["negatives"]["encoder"], f"{where}.negatives.encoder")
        yield from files_mistakes(config, where, scorer, scorer["corpus"])
        regions = config.get("regions", {}).get(scorer["regions"], {})
        if scorer.get("word_embeddings") == "encoder" and regions and "encoder" not in regions:
            yield (
                f"{where}.word_embeddings is 'encoder', but regions.{scorer['regions']} are of no encoder that knows "
                "words; write `word_embeddings: random`"
            )
        yield from size_mistakes(config, where, scorer["corpus"], "train", scorer["optimizer"]["batch"], "a batch")
