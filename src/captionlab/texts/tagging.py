"""Words, lemmas and parts of speech of captions, by a spaCy model."""

import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from captionlab.paths import RESOURCES
from captionlab.texts.unknown import UNKNOWN

if TYPE_CHECKING:
    from spacy.language import Language

# Universal part-of-speech tags that spaCy gives a token; SPACE is left out.
TAGS = frozenset(
    {"ADJ", "ADP", "ADV", "AUX", "CCONJ", "DET", "INTJ", "NOUN", "NUM", "PART", "PRON", "PROPN", "PUNCT", "SCONJ"}
    | {"SYM", "VERB", "X"}
)
# A lower-cased word that a tagger takes for a name ("a tv") is a noun of the caption too.
NOUNS = frozenset({"NOUN", "PROPN"})
# UNK stands for a word that a captioner does not know, and is none; taggers take it for a noun.
OTHER = "X"
# What a caption needs no more than tags and lemmas for.
UNUSED = ["parser", "ner", "senter", "entity_linker"]


class TaggerError(RuntimeError):
    """The spaCy model is not installed, or its folder is no spaCy model."""


def load_tagger(model: str | os.PathLike[str]) -> "Language":
    """A spaCy model that tags and lemmatises: a folder, one of resources/, or an installed package as en_core_web_sm.

    Raises TaggerError that says how to get it.
    """
    import spacy  # which imports torch; jobs that read tags need neither

    folder = Path(model) if Path(model).is_dir() else RESOURCES / model
    try:
        tagger = spacy.load(folder if folder.is_dir() else str(model), exclude=UNUSED)
    except OSError as error:
        if folder.is_dir() or "/" in str(model):
            raise TaggerError(f"{model} is no folder of a spaCy model: {error}") from error
        raise TaggerError(
            f"the spaCy model {model!r} is not installed; get it with `python -m spacy download {model}` "
            "(a package of that name for spaCy 3.8), or give the folder of a model, such as resources/en_ewt_sm"
        ) from error
    # A safeguard for parsers, which are not used.
    tagger.max_length = sys.maxsize
    return tagger


def tag(tagger: "Language", captions: Iterable[str]) -> Iterator[tuple[list[str], list[str], list[str]]]:
    """For each caption its words as written, their lemmas and their tags; white space is left out, UNK has the tag X.

    Raises TaggerError when the model gives no tags or no lemmas.
    """
    for doc in tagger.pipe(captions, batch_size=256):
        tokens = [token for token in doc if not token.is_space]
        words, lemmas, tags = ([getattr(token, name) for token in tokens] for name in ("text", "lemma_", "pos_"))
        if not all(tags) or not all(lemmas):
            name = tagger.meta["name"]
            raise TaggerError(f"the spaCy model {name} gave a word of {doc.text[:80]!r} no tag or no lemma")
        yield words, lemmas, [OTHER if word == UNKNOWN else tag for word, tag in zip(words, tags, strict=True)]
