"""What the parts of a config say of each other: names that must lead somewhere, what must fit."""

from collections.abc import Iterator

from captionlab.corpora.toyworld.domains import DOMAINS
from captionlab.workflow.blocks import Block, scorer_kind
from captionlab.workflow.captioner_references import captioner_mistakes
from captionlab.workflow.evaluation_references import (
    evaluation_mistakes,
    repeated_evaluations,
    scenes_mistakes,
    study_mistakes,
    validity_mistakes,
)
from captionlab.workflow.names import HAVE_GRIDS, files_mistakes, hint, known, size_mistakes

# What the weights of a ViLBERT do not tell, and those of other families do not have.
OF_VILBERT = ("joint_heads", "task", "v_biattention_id", "t_biattention_id")


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
    if scenes := config.get("scenes"):
        yield from scenes_mistakes(config, scenes)


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
        yield from known(config, "corpora", encoder["corpus"], f"encoders.{name}.corpus")


def _grid_mistakes(config: Block, name: str, encoder: Block) -> Iterator[str]:
    where, of = f"encoders.{name}", encoder["grid_of"]
    if given := sorted(set(encoder) - {"grid_of"}):
        yield f"{where} is the grid of {of!r}, so it has no keys of its own: drop {', '.join(given)}"
    yield from known(config, "encoders", of, f"{where}.grid_of")
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
    if scorer_kind(scorer) == "imported":
        for key in OF_VILBERT:
            if key in scorer and scorer["family"] != "vilbert":
                yield f"{where}.{key} is something that vilbert can have; drop it"
        if ("v_biattention_id" in scorer) != ("t_biattention_id" in scorer):
            yield f"{where} must have v_biattention_id and t_biattention_id, or none of them"
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
