"""METEOR's paraphrases, cut down to those that some texts can contain, so that METEOR starts at once.

METEOR 1.5 reads 5 million pairs of phrases before it scores its first caption, which takes longer than scoring a test
split. A pair can only match where both of its phrases occur, so pairs with a word that no text has change nothing.
"""

import gzip
import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from captionlab.evaluation.schemas import PARAPHRASES, PHRASES
from captionlab.tables import read_table

# What is between words. METEOR separates texts at other characters only, whatever its rules (Normalizer of
# meteor-1.5.jar), so each word of a text as METEOR reads it is one of the text as it is.
BETWEEN = "[^0-9a-z]+"


def index_paraphrases(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Columns of the tables of phrases and of paraphrases; `path` is METEOR's file, three lines for a pair."""
    lines = pyarrow.csv.read_csv(
        path,
        pyarrow.csv.ReadOptions(column_names=["line"]),
        pyarrow.csv.ParseOptions(delimiter="\x1f", quote_char=False, ignore_empty_lines=False),
        pyarrow.csv.ConvertOptions(column_types={"line": pa.string()}, strings_can_be_null=False),
    )["line"]
    if len(lines) % 3:
        raise ValueError(f"{path}: {len(lines)} lines are not a probability and two phrases each; install METEOR again")
    places = np.arange(0, len(lines), 3)
    both = pa.chunked_array([*lines.take(places + 1).chunks, *lines.take(places + 2).chunks])
    encoded = both.dictionary_encode().unify_dictionaries()
    phrases = encoded.chunk(0).dictionary
    of_pairs = np.concatenate([chunk.indices.to_numpy() for chunk in encoded.chunks])
    first, second = np.split(of_pairs, 2)
    pairs = {"probability": lines.take(places).cast(pa.float64()), "phrase": first, "paraphrase": second}
    return {"phrase": phrases, "words": pc.split_pattern_regex(phrases, BETWEEN)}, pairs


def write_paraphrases(
    texts: Iterable[str], phrases: str | os.PathLike[str], paraphrases: str | os.PathLike[str], path: Path
) -> int:
    """Write METEOR's file of those paraphrases whose words all occur in the texts; returns how many these are."""
    words = sorted({"", *(word for text in texts for word in re.split(BETWEEN, text.lower()))})
    table = read_table(phrases, PHRASES).combine_chunks()
    of_phrases = table["words"].combine_chunks()
    unknown = pc.invert(pc.is_in(of_phrases.values, pa.array(words, pa.string()))).to_numpy(zero_copy_only=False)
    missing = np.concatenate([[0], np.cumsum(unknown)])[of_phrases.offsets.to_numpy()]
    possible = missing[1:] == missing[:-1]
    pairs = read_table(paraphrases, PARAPHRASES)
    first, second = pairs["phrase"].to_numpy(), pairs["paraphrase"].to_numpy()
    kept = np.flatnonzero(possible[first] & possible[second])
    ones, others = (table["phrase"].take(of[kept]).to_pylist() for of in (first, second))
    lines = zip(pairs["probability"].to_numpy()[kept].tolist(), ones, others, strict=True)
    with gzip.open(path, "wt", encoding="utf-8", compresslevel=1) as file:
        file.writelines(f"{probability!r}\n{phrase}\n{paraphrase}\n" for probability, phrase, paraphrase in lines)
    return len(kept)
