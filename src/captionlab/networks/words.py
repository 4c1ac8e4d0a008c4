"""Tokenizers with whole words as tokens, an alternative to byte-level BPE.

Follows github.com/ruotianluo/ImageCaptioning.pytorch (scripts/prepro_labels.py). Words are lower-case and without
punctuation. Rare words become UNK, which has the last id. Id 0 begins, ends and pads captions.
"""

import json
import os
import string
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

import tokenizers
from tokenizers import Regex, models, normalizers, pre_tokenizers

from captionlab.networks.tokenizer import END, Tokenizer
from captionlab.texts.unknown import UNKNOWN

_PUNCTUATION = str.maketrans("", "", string.punctuation)


def words_of(text: str) -> list[str]:
    """Return the words of a text, lower-case and without ASCII punctuation, like Karpathy's tokens."""
    return text.lower().translate(_PUNCTUATION).split()


def learn_words(texts: Iterable[str], min_count: int) -> Tokenizer:
    """Return a tokenizer of the words that occur at least `min_count` times, the most frequent first.

    Raises ValueError if there is no such word.
    """
    counts = Counter(word for text in texts for word in words_of(text))
    words = sorted((word for word, count in counts.items() if count >= min_count), key=lambda word: -counts[word])
    if not words:
        raise ValueError(f"no word occurs {min_count} times in the captions; set architecture.min_count lower")
    return _tokenizer([*words, UNKNOWN])


def read_words(path: str | os.PathLike[str]) -> Tokenizer:
    """Read a tokenizer from a published vocabulary: cocotalk.json, or any JSON object with its key `ix_to_word`.

    The `infos` files of published weights have the same vocabulary, but are pickles, which could run code and are not
    read. Raises ValueError if the file is not valid.
    """
    try:
        content = json.loads(Path(path).read_text(encoding="utf-8"))
        numbered = {int(number): word for number, word in content["ix_to_word"].items()}
        return _tokenizer([numbered[number] for number in range(1, len(numbered) + 1)])
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(
            f"{path} is no vocabulary of words ({error!r}); it must be cocotalk.json, or a JSON object whose "
            '"ix_to_word" maps "1", "2", ... to words, the last of them UNK'
        ) from error


def _tokenizer(words: Sequence[str]) -> Tokenizer:
    """Return a tokenizer of words with the ids 1, 2, and so on.

    Raises ValueError if the last word is not UNK or a word is repeated.
    """
    if words[-1] != UNKNOWN:
        raise ValueError(f"the last word is {words[-1]!r} and not {UNKNOWN}")
    ids = {END: 0, **{word: number for number, word in enumerate(words, 1)}}
    if len(ids) <= len(words):
        raise ValueError("a word is there twice")
    tokenizer = tokenizers.Tokenizer(models.WordLevel(ids, unk_token=UNKNOWN))
    escaped = "".join(f"\\{character}" for character in string.punctuation)
    tokenizer.normalizer = normalizers.Sequence(
        [normalizers.Lowercase(), normalizers.Replace(Regex(f"[{escaped}]"), "")]
    )
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.add_special_tokens([END])
    return Tokenizer(tokenizer)
