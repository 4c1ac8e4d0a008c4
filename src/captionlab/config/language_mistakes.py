"""Checks of a config for what reads English alone, or words that spaces separate."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from captionlab.config.blocks import Block
from captionlab.config.families import rewards, rewards_in, score_tables
from captionlab.config.languages import (
    base_language,
    has_spaces,
    language_of,
    others,
    tagger_language,
    tokenizer_of,
    usual_tokenizer,
)
from captionlab.storage import paths

# The tagger that comes with captionlab.
BUNDLED = "en_ewt_sm"
# Keys of metrics whose word lists may be files of the user, in any language.
_OWN_LISTS = ("objects",)


def language_mistakes(config: Block) -> Iterator[str]:
    """Yield a sentence for each part of a checked config that cannot read the captions of its corpus."""
    for name, block in config["evaluations"].items():
        yield from _metric_mistakes(config, f"evaluations.{name}", block, block["corpora"])
        yield from _construction_mistakes(config, f"evaluations.{name}", block)
    for name, block in config["judgements"].items():
        yield from _metric_mistakes(config, f"judgements.{name}", block, [block["corpus"]])
    for name, block in config["captioners"].items():
        if "objective" in block and "snapshot" not in block:
            yield from _training_mistakes(config, f"captioners.{name}", block)
    if studied := config.get("language"):
        model = studied["model"].get("corpus")
        corpora = [*config["evaluations"][studied["evaluation"]]["corpora"], *([model] if model else [])]
        yield from _tagger_mistakes(config, "language", corpora)
        yield from _tokenizer_mistakes(config, corpora)
    if scenes := config.get("scene_analysis"):
        yield from _tagger_mistakes(config, "scene_analysis", [scenes["corpus"]])


def _metric_mistakes(config: Block, where: str, block: Block, corpora: Sequence[str]) -> Iterator[str]:
    """Yield a sentence for each metric whose word lists, or whose tagger, are for another language than a corpus."""
    foreign = others(config["corpora"], corpora)
    for key in (key for facts in score_tables().values() if "tags" in facts.reads for key in facts.asks):
        if not block.get(key):
            continue
        if foreign and (key not in _OWN_LISTS or block[key] in paths.CATEGORIES):
            corpus, language = next(iter(foreign.items()))
            yield (
                f"{where}.{key}: its word lists are English, and the captions of corpora.{corpus} are in {language}; "
                "leave it out, or evaluate that corpus in another block"
            )
        else:
            yield from _tagger_mistakes(config, f"{where}.{key}", corpora)


def _construction_mistakes(config: Block, where: str, block: Block) -> Iterator[str]:
    """Yield a sentence if captions are constructed from captions in another language than English."""
    foreign = others(config["corpora"], block["corpora"])
    for name in block["captioners"] if foreign else ():
        if config["captioners"][name].get("family") == "constructed":
            corpus, language = next(iter(foreign.items()))
            yield (
                f"{where}: the captioner {name!r} constructs English captions, and the captions of corpora.{corpus} "
                f"are in {language}; take one of them out"
            )


def _training_mistakes(config: Block, where: str, block: Block) -> Iterator[str]:
    """Yield a sentence if a training compares words of a language that has no spaces between them."""
    corpus = config["corpora"][block["corpus"]]
    if has_spaces(usual_tokenizer(language_of(corpus))):
        return
    reward = block["objective"].get("reward")
    parts = [
        place for place, part in (rewards_in(reward, "objective.reward") if reward else ()) if _compares_words(part)
    ]
    for place in [*parts, *(["validation"] if "validation" in block else [])]:
        yield (
            f"{where}.{place} compares words that spaces separate, and the captions of corpora.{block['corpus']}, in "
            f"{language_of(corpus)}, have none; leave it out, or take a reward that asks a retriever or scorer"
        )


def _compares_words(reward: Mapping[str, Any]) -> bool:
    """Return whether a reward compares captions with references."""
    return rewards()[reward["kind"]].references


def _tokenizer_mistakes(config: Block, corpora: Sequence[str]) -> Iterator[str]:
    """Yield a sentence if the language model learns from other tokens than captions are made of."""
    tokenizers = {corpus: tokenizer_of(config["corpora"][corpus]) for corpus in corpora}
    if len({*tokenizers.values()}) > 1 and len({language_of(config["corpora"][corpus]) for corpus in corpora}) == 1:
        written = ", ".join(f"{corpus} ({tokenizer})" for corpus, tokenizer in tokenizers.items())
        yield f"language compares the tokens of {written}, which have different tokenisers; give them the same"


def _tagger_mistakes(config: Block, where: str, corpora: Sequence[str]) -> Iterator[str]:
    """Yield a sentence if the tagger of the config does not read the language of the captions of all corpora."""
    tagger = (config.get("language") or {}).get("tagger", BUNDLED)
    languages = {corpus: language_of(config["corpora"][corpus]) for corpus in corpora}
    if len(bases := {base_language(language) for language in languages.values()}) > 1:
        written = ", ".join(f"{corpus} ({language})" for corpus, language in languages.items())
        yield f"{where} tags captions of {written}, which one tagger cannot do; study one language"
    elif tagger_language(tagger) not in ("", "xx", *bases):
        language = bases.pop()
        yield (
            f"{where}: its captions are in {language}, and the spaCy model {tagger} is not; name an installed model of "
            f"that language as language.tagger, such as {language}_core_news_sm"
        )
