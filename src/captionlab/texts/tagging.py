"""Words, lemmas and parts of speech of captions, from a spaCy model."""

import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from captionlab.storage.paths import RESOURCES
from captionlab.texts.unknown import UNKNOWN

if TYPE_CHECKING:
    from spacy.language import Language

# Universal part-of-speech tags of spaCy, without SPACE.
TAGS = frozenset(
    {"ADJ", "ADP", "ADV", "AUX", "CCONJ", "DET", "INTJ", "NOUN", "NUM", "PART", "PRON", "PROPN", "PUNCT", "SCONJ"}
    | {"SYM", "VERB", "X"}
)
# Taggers take some lower-case nouns for names ("a tv"), so PROPN counts as a noun.
NOUNS = frozenset({"NOUN", "PROPN"})
# Tag of UNK, which stands for an unknown word. Taggers take UNK for a noun.
OTHER = "X"
# Components of spaCy models that are not needed for tags and lemmas.
UNUSED = ["parser", "ner", "senter", "entity_linker"]


class TaggerError(RuntimeError):
    """The spaCy model is not installed, cannot be read, or gives no tags or lemmas."""


def load_tagger(model: str | os.PathLike[str]) -> "Language":
    """Load a spaCy model that tags and lemmatises: a folder, a folder of resources/, or a package like en_core_web_sm.

    Raises TaggerError, which says how to get the model, if it cannot be loaded.
    """
    import spacy  # imports torch; jobs that only read tags need neither

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
    # The limit protects parsers, which are not used.
    tagger.max_length = sys.maxsize
    return tagger


def tag(tagger: "Language", captions: Iterable[str]) -> Iterator[tuple[list[str], list[str], list[str]]]:
    """Yield for each caption its words as written, their lemmas and their tags.

    White space is left out, and UNK has the tag X. Raises TaggerError if the model gives no tags or no lemmas.
    """
    for doc in tagger.pipe(captions, batch_size=256):
        tokens = [token for token in doc if not token.is_space]
        words, lemmas, tags = ([getattr(token, name) for token in tokens] for name in ("text", "lemma_", "pos_"))
        if not all(tags) or not all(lemmas):
            name = tagger.meta["name"]
            raise TaggerError(f"the spaCy model {name} gave a word of {doc.text[:80]!r} no tag or no lemma")
        yield words, lemmas, [OTHER if word == UNKNOWN else tag for word, tag in zip(words, tags, strict=True)]
