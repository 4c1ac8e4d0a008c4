"""Languages of captions by their codes, and the tokeniser of each language.

Codes are of ISO 639, perhaps with parts of BCP 47 behind a hyphen: de, zh-Hant, pt-BR.
"""

import difflib
import re
from collections.abc import Iterable, Mapping
from typing import Any, Literal

ENGLISH = "en"
# The names of the tokenisers: `ptb` is pycocoevalcap's Penn treebank tokeniser, the others are sacrebleu's.
Tokenizer = Literal["ptb", "intl", "zh", "ja-mecab", "ko-mecab", "char", "flores200"]
PTB: Tokenizer = "ptb"
# Languages with a tokeniser of their own. Words of Thai, Lao, Khmer, Burmese, Tibetan and Dzongkha are not spaced.
_OWN: Mapping[str, Tokenizer] = {
    ENGLISH: PTB,
    "zh": "zh",
    "yue": "zh",
    "ja": "ja-mecab",
    "ko": "ko-mecab",
    **dict.fromkeys(("th", "lo", "km", "my", "bo", "dz"), "flores200"),
}
# Tokenisers in words, for the notes of tables.
IN_WORDS: Mapping[str, str] = {
    PTB: "the Penn treebank tokeniser of pycocoevalcap, in lower case and without punctuation",
    **{
        name: f"sacrebleu's tokeniser {name}, in lower case and without punctuation"
        for name in ("intl", "zh", "ja-mecab", "ko-mecab", "char", "flores200")
    },
}
# Codes of ISO 639-1.
_ISO_639_1 = (
    "aa ab ae af ak am an ar as av ay az ba be bg bi bm bn bo br bs ca ce ch co cr cs cu cv cy da de dv dz ee "
    "el en eo es et eu fa ff fi fj fo fr fy ga gd gl gn gu gv ha he hi ho hr ht hu hy hz ia id ie ig ii ik io "
    "is it iu ja jv ka kg ki kj kk kl km kn ko kr ks ku kv kw ky la lb lg li ln lo lt lu lv mg mh mi mk ml mn "
    "mr ms mt my na nb nd ne ng nl nn no nr nv ny oc oj om or os pa pi pl ps pt qu rm rn ro ru rw sa sc sd se "
    "sg sh si sk sl sm sn so sq sr ss st su sv sw ta te tg th ti tk tl tn to tr ts tt tw ty ug uk ur uz ve vi "
    "vo wa wo xh yi yo za zh zu"
)
_CODES = frozenset(_ISO_639_1.split())
# What people write for a language, by its code: names of languages, and countries' codes that are no languages.
_MEANT = {
    "jp": "ja", "cn": "zh", "cz": "cs", "gr": "el", "ua": "uk", "dk": "da", "iw": "he", "in": "id", "us": "en",
    "gb": "en", "eng": "en", "ger": "de", "deu": "de", "fre": "fr", "fra": "fr", "spa": "es", "zho": "zh", "chi": "zh",
    "jpn": "ja", "kor": "ko", "ara": "ar", "rus": "ru", "arabic": "ar", "bengali": "bn", "chinese": "zh",
    "czech": "cs", "danish": "da", "dutch": "nl", "english": "en", "finnish": "fi", "french": "fr", "german": "de",
    "greek": "el", "hebrew": "he", "hindi": "hi", "hungarian": "hu", "indonesian": "id", "italian": "it",
    "japanese": "ja", "korean": "ko", "norwegian": "no", "persian": "fa", "polish": "pl", "portuguese": "pt",
    "romanian": "ro", "russian": "ru", "spanish": "es", "swahili": "sw", "swedish": "sv", "thai": "th",
    "turkish": "tr", "ukrainian": "uk", "vietnamese": "vi", "mandarin": "zh", "deutsch": "de", "francais": "fr",
}  # fmt: skip
_FORM = re.compile(r"[a-z]{2,3}(-[A-Za-z0-9]{2,8})*")


def language_mistake(language: str) -> str:
    """Return what is wrong with the code of a language, for a sentence that begins with its key; "" if nothing is."""
    base = language.partition("-")[0]
    if _FORM.fullmatch(language) and (base in _CODES or len(base) == 3) and base not in _MEANT:
        return ""
    close = difflib.get_close_matches(re.split("[-_]", language.lower())[0], [*_MEANT, *_CODES], n=1, cutoff=0.8)
    meant = f"did you mean {_MEANT.get(close[0], close[0])!r}?" if close else "write one such as de, ja or zh-Hant"
    return f"is {language!r}, which is no code of a language (ISO 639, or BCP 47 as in zh-Hant); {meant}"


def base_language(language: str) -> str:
    """Return the code of a language without script and region: zh of zh-Hant."""
    return language.partition("-")[0]


def has_spaces(tokenizer: Tokenizer) -> bool:
    """Return whether a tokeniser is of languages with spaces between words."""
    return tokenizer in (PTB, "intl", "ko-mecab")


def is_english(language: str) -> bool:
    """Return whether a code stands for English."""
    return base_language(language) == ENGLISH


def usual_tokenizer(language: str) -> Tokenizer:
    """Return the tokeniser of a language; by default `intl`, for languages with spaces between words."""
    return _OWN.get(base_language(language), "intl")


def written_tokenizer(tokenizer: Tokenizer) -> str:
    """Return the name of the tokeniser with which sacrebleu compares captions as they were written.

    English has sacrebleu's default, 13a.
    """
    return "13a" if tokenizer == PTB else tokenizer


def tokenizer_of(corpus: Mapping[str, Any]) -> Tokenizer:
    """Return the tokeniser of the captions of a corpus, from its block of a config."""
    asked: Tokenizer | None = corpus.get("tokenizer")
    return asked or usual_tokenizer(language_of(corpus))


def language_of(corpus: Mapping[str, Any]) -> str:
    """Return the language of the captions of a corpus, from its block of a config."""
    return str(corpus.get("language") or ENGLISH)


def tagger_language(model: str) -> str:
    """Return the language that the name of a spaCy model begins with, or "" if it begins with none, as of a folder."""
    named = re.match(r"([a-z]{2,3})_\w+$", model)
    return named[1] if named else ""


def others(corpora: Mapping[str, Mapping[str, Any]], names: Iterable[str]) -> dict[str, str]:
    """Return the languages of those named corpora whose captions are not in English, by name."""
    languages = {name: language_of(corpora[name]) for name in names}
    return {name: language for name, language in languages.items() if not is_english(language)}


def other_tokenizers(corpora: Mapping[str, Mapping[str, Any]], names: Iterable[str]) -> dict[str, Tokenizer]:
    """Return the tokenisers of those named corpora that have another tokeniser than `ptb`, by name."""
    tokenizers = {name: tokenizer_of(corpora[name]) for name in names}
    return {name: tokenizer for name, tokenizer in tokenizers.items() if tokenizer != PTB}
