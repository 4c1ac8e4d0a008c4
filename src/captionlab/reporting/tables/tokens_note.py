"""Notes on the tokens that BLEU, METEOR, ROUGE-L and CIDEr of a table compare."""

from collections.abc import Mapping, Sequence
from typing import Any

from captionlab.config.languages import IN_WORDS, PTB, Tokenizer, written_tokenizer
from captionlab.evaluation.metrics.nlg.config import FACTS as NLG
from captionlab.evaluation.metrics.sacrebleu.config import FACTS as SACREBLEU
from captionlab.reporting.tables.render import Column

# Columns of records that may name a metric.
_METRIC_COLUMNS = ("metric", "measure")
ENGLISH_ALONE = (
    "METEOR and SPICE are computed for English alone, by the tokeniser of pycocoevalcap, and not on {corpora}."
)
UNLIKE = "Values of {metrics} on tokens of different tokenisers cannot be compared with each other."


def token_notes(
    columns: Sequence[Column], records: Sequence[Mapping[str, Any]], tokenizers: Mapping[str, Tokenizer]
) -> list[str]:
    """Return the notes on the tokens of a table, none if it has no metric of tokens.

    `records` are the records of its CSV. `tokenizers` are the tokenisers of those corpora that have another tokeniser
    than English, by name. If no record names a corpus, the table counts as about all corpora.
    """
    named = {str(record[key]) for record in records for key in _METRIC_COLUMNS if record.get(key)}
    named |= {column.heading for column in columns}
    of_tokens = [name for name in NLG.metrics if name in named]
    written = [name for name in SACREBLEU.metrics if name in named]
    if not of_tokens and not written:
        return []
    corpora = {str(record["corpus"]) for record in records if record.get("corpus")}
    used = {corpus: tokenizers.get(corpus, PTB) for corpus in sorted(corpora or tokenizers)}
    kinds = [*dict.fromkeys(used.values())] or [PTB]
    notes = []
    if of_tokens:
        notes.append(f"Tokens of {_joined(of_tokens)}: {_by_corpus(used, kinds, IN_WORDS)}.")
    if written:
        names: dict[str, str] = {kind: f"sacrebleu's tokeniser {written_tokenizer(kind)}" for kind in kinds}
        notes.append(f"Tokens of {_joined(written)}: {_by_corpus(used, kinds, names)}.")
    if len(kinds) > 1:
        notes.append(UNLIKE.format(metrics=_joined([*of_tokens, *written])))
    if others := [corpus for corpus, kind in used.items() if kind != PTB]:
        notes.append(ENGLISH_ALONE.format(corpora=_joined(others)))
    return notes


def _by_corpus(used: Mapping[str, Tokenizer], kinds: Sequence[Tokenizer], words: Mapping[str, str]) -> str:
    """Return tokenisers in words, with their corpora if there are several tokenisers."""
    if len(kinds) == 1:
        return words[kinds[0]]
    return "; ".join(
        f"on {_joined([corpus for corpus, of in used.items() if of == kind])}, {words[kind]}" for kind in kinds
    )


def _joined(names: Sequence[str]) -> str:
    """Return names as a list in a sentence."""
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
