"""Tokens of captions in any language, by the tokeniser of the language.

English has pycocoevalcap's Penn treebank tokeniser (captionlab.evaluation.ptb). Other languages have a tokeniser of
sacrebleu (Post 2018), whose names are in captionlab.config.languages.
"""

import logging
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING

from captionlab.config.languages import PTB, Tokenizer
from captionlab.evaluation import ptb

if TYPE_CHECKING:
    from sacrebleu.metrics import BLEU

# The extra of captionlab with the packages of a tokeniser.
_EXTRAS: Mapping[str, str] = {"ja-mecab": "ja", "ko-mecab": "ko", "flores200": "flores"}

logger = logging.getLogger(__name__)


class TokenizerError(RuntimeError):
    """A tokeniser lacks a package or a file."""


def tokenize(captions: Sequence[str], tokenizer: Tokenizer = PTB) -> list[str]:
    """Return each caption in lower case, without punctuation, its tokens joined by single spaces.

    Raises JavaError if the Penn treebank tokeniser fails, and TokenizerError if a tokeniser of sacrebleu lacks a
    package or a file.
    """
    if tokenizer == PTB:
        return ptb.tokenize(captions)
    split = bleu_by(tokenizer).tokenizer
    tokenized = [" ".join(filter(_is_word, split(caption.lower()).split())) for caption in captions]
    if empty := sum(not tokens for tokens in tokenized):
        logger.warning("%d of %d captions have no token but punctuation", empty, len(captions))
    return tokenized


def tokenize_corpora(captions: Iterable[tuple[str, str]], tokenizers: Mapping[str, Tokenizer]) -> list[str]:
    """Return the tokens of captions, each given with the name of its corpus, in their order.

    `tokenizers` are by the name of a corpus; a corpus without one has the Penn treebank tokeniser. The captions with
    the same tokeniser go through it together.
    """
    rows = [*captions]
    found = [""] * len(rows)
    chosen = [tokenizers.get(corpus, PTB) for corpus, _ in rows]
    for tokenizer in dict.fromkeys(chosen):
        places = [place for place, name in enumerate(chosen) if name == tokenizer]
        tokens = tokenize([rows[place][1] for place in places], tokenizer)
        for place, text in zip(places, tokens, strict=True):
            found[place] = text
    return found


@cache
def bleu_by(name: str) -> "BLEU":
    """Return sacrebleu's BLEU with a tokeniser by its name in sacrebleu; the attribute `tokenizer` tokenises a text.

    Short captions count, too: orders of n-grams for which a caption is too short are left out. Raises TokenizerError,
    which says what to install or to fetch.
    """
    from sacrebleu.metrics import BLEU

    try:
        return BLEU(effective_order=True, tokenize=name)
    except OSError as error:
        raise TokenizerError(
            f"the tokeniser {name} needs its model, which sacrebleu fetches once into ~/.sacrebleu/models, and that "
            f"failed ({error}); fetch it on a machine with a network and copy the folder (the variable SACREBLEU names "
            "another folder than ~/.sacrebleu), or write `tokenizer: char` in the block of the corpus"
        ) from error
    except (RuntimeError, ImportError) as error:
        install = f"pip install 'captionlab[{_EXTRAS[name]}]'"
        raise TokenizerError(f"the tokeniser {name} needs packages that are not installed; {install}") from error


def _is_word(token: str) -> bool:
    """Return whether a token has anything but punctuation and symbols."""
    return any(unicodedata.category(character)[0] not in "PS" for character in token)
