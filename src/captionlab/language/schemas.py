"""The tables of the language stage: their columns and keys."""

import pyarrow as pa

from captionlab.storage.schemas import CAPTION_KEY, CORPUS
from captionlab.storage.tables import Column, TableSchema

_STRING, _INT, _LONG, _DOUBLE = pa.string(), pa.int32(), pa.int64(), pa.float64()

MEASURES = TableSchema(
    "language measures",
    "a caption and what was measured of its language",
    tuple(CAPTION_KEY),
    **CAPTION_KEY,
    words=Column(_INT, "tokens of the Penn treebank, without punctuation"),
    repeated=Column(_INT, "tokens that occur before in the caption"),
    unknown=Column(_INT, "tokens that the language model does not know, and leaves out"),
    impossible=Column(_INT, "tokens that it knows and gives probability 0, which it leaves out too"),
    log_prob=Column(_DOUBLE, "log10 of the probability; missing without tokens", nullable=True),
    perplexity=Column(_DOUBLE, "SRILM's ppl; missing without tokens", nullable=True),
    nouns=Column(_INT, "words tagged NOUN or PROPN"),
    distinct_nouns=Column(_INT, "different nouns, in lower case"),
)
STATISTICS = TableSchema(
    "language statistics",
    "a number about the captions of a captioner on a corpus",
    ("corpus", "statistic"),
    corpus=CORPUS,
    statistic=Column(_STRING, "mean_length, perplexity and the like"),
    value=Column(_DOUBLE, "its value; missing if it has no meaning", nullable=True),
    n=Column(_INT, "captions that it is computed from"),
    note=Column(_STRING, "why the value is missing", nullable=True),
)
NGRAMS = TableSchema(
    "n-grams",
    "a word, or a sequence of part-of-speech tags, of the captions of a captioner on a corpus",
    ("corpus", "unit", "n", "ngram"),
    corpus=CORPUS,
    unit=Column(_STRING, "word or tag"),
    n=Column(_INT, "length"),
    ngram=Column(_STRING, "words or tags joined by spaces"),
    rank=Column(_INT, "rank by count among n-grams of the same unit and length, from 1; equal ones by name"),
    count=Column(_LONG, "occurrences"),
    share=Column(_DOUBLE, "share of all n-grams of the same unit and length"),
)
PATTERNS = TableSchema(
    "patterns",
    "a pattern, and how many captions of a captioner on a corpus follow it",
    ("corpus", "source", "model", "role", "rank"),
    corpus=CORPUS,
    source=Column(_STRING, "published: by the paper; mined: found in the captions"),
    model=Column(_STRING, "the paper's name of the model with this pattern; missing when mined", nullable=True),
    role=Column(_STRING, "prefix or sentence"),
    rank=Column(_INT, "rank among patterns of the same source, model and role, from 1; mined ones by share"),
    pattern=Column(_STRING, "the pattern, as captionlab.language.patterns reads it"),
    start=Column(
        _DOUBLE,
        "share of captions with a matching start; a later published prefix does not count captions with an earlier one",
    ),
    whole=Column(_DOUBLE, "share of captions that follow it to their last word"),
    n=Column(_INT, "captions"),
    examples=Column(pa.list_(_STRING), "the first captions that follow it; a sentence must match to the end"),
)
ASSOCIATIONS = TableSchema(
    "associations",
    "a lemma that occurs in a type of captions",
    ("corpus", "caption_type", "tag", "lemma"),
    corpus=CORPUS,
    caption_type=Column(_STRING, "captioner, by its name in the analysis"),
    tag=Column(_STRING, "part of speech"),
    lemma=Column(_STRING, "lemma"),
    rank=Column(_INT, "rank by association among lemmas of the same type and part of speech, from 1"),
    count=Column(_LONG, "occurrences in this type, of words that mostly have this part of speech"),
    association=Column(_DOUBLE, "local mutual information, nats"),
)
CONSTRUCTED = TableSchema(
    "constructions",
    "the construction of a caption; the caption itself is in the table of captions",
    tuple(CAPTION_KEY),
    **CAPTION_KEY,
    experiment=Column(
        _STRING,
        "replacement: words of a caption replaced; template: its nouns in a template; count: `level` nouns in one",
    ),
    subject=Column(_STRING, "kind of replaced words, nouns or others; else the model of the template"),
    source=Column(_STRING, "source of the template: published or mined", nullable=True),
    level=Column(_DOUBLE, "share of words to replace, 0 to 1, or number of nouns"),
    words=Column(pa.list_(_STRING), "inserted words, in order"),
    template=Column(_STRING, "the template, as captionlab.language.construction reads it", nullable=True),
)
