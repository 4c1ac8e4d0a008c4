"""From tables of scores and tokens to measures on foils, of two sets that are pooled and of a language model."""

import math

import pytest
from support.running import run_script

from captionlab.judgements.language import LOG_PROBABILITY, language_scores
from captionlab.judgements.schemas import FOIL_DIFFERENCES, FOIL_MEASURES, PREFERENCES
from captionlab.storage.schemas import ALIGNMENT, TOKENS
from captionlab.storage.tables import read_table, write_table
from captionlab.texts.arpa import read_arpa

# Bigrams with exact probabilities: P(a | <s>) = 1/2, P(b | a) = 1/10, P(</s> | b) = 1; P(c) = 1/100 after anything.
ARPA = """\\data\\
ngram 1=5
ngram 2=3

\\1-grams:
-2\t</s>\t0
-99\t<s>\t0
-1\ta\t0
-1\tb\t0
-2\tc\t0

\\2-grams:
-0.30103\t<s> a
-1\ta b
0\tb </s>

\\end\\
"""
TEXTS = {"first": ("a b", "c"), "second": ("a b", "a c")}  # caption and foil of the image of each set


def preference(image, **place):
    row = {"image_id": image, "caption_index": 0, "other_index": 1, "votes": 1, "other_votes": 0, "tie": None}
    return {**row, "category": "relations", **place}


@pytest.fixture
def files(tmp_path):
    """The inputs of the rule for the sets `first` and `second`, which have an image of the same id."""
    found = {"alignment": [], "preferences": [], "tokens": []}
    for name, scores in (("first", (0.9, 0.2)), ("second", (0.4, 0.6))):
        paths = {table: tmp_path / name / f"{table}.parquet" for table in found}
        keys = [{"corpus": name, "image_id": "same", "caption_index": index} for index in (0, 1)]
        rows = [
            {**key, "scorer": scorer, "score": score if scorer == "uniter" else 10 * score}
            for scorer in ("uniter", "clip")
            for key, score in zip(keys, scores, strict=True)
        ]
        write_table(paths["alignment"], ALIGNMENT, rows)
        write_table(paths["preferences"], PREFERENCES, [preference("same")])
        tokens = [{**key, "tokens": text} for key, text in zip(keys, TEXTS[name], strict=True)]
        write_table(paths["tokens"], TOKENS, tokens)
        for table, path in paths.items():
            found[table].append(path)
    arpa = tmp_path / "given.arpa"
    arpa.write_text(ARPA)
    return {**found, "model": [arpa]}


def measure(folder, files):
    made = {"measures": folder / "measures.parquet", "differences": folder / "differences.parquet"}
    params = {"tables": ["alignment"], "factors": {"uniter": 100.0, "clip": 1.0}, "thresholds": {"uniter": 50.0}}
    run_script("measure_foils", files, made, wildcards={"judgements": "first+second"}, seed=1, **params)
    rows = read_table(made["measures"], FOIL_MEASURES).to_pylist()
    return (
        {(row["metric"], row["scorer"], row["category"], row["measure"]): row for row in rows},
        read_table(made["differences"], FOIL_DIFFERENCES).to_pylist(),
    )


def test_images_of_two_sets_with_one_id_are_two_images(tmp_path, files):
    rows, differences = measure(tmp_path, files)
    found = rows["score", "uniter", "relations", "acc_r"]
    assert (found["value"], found["n"], found["images"]) == (0.5, 2, 2)
    values = {
        measure: rows["score", "uniter", "relations", measure]["value"] for measure in ("p_c", "p_f", "acc", "AUROC")
    }
    assert values == {"p_c": 0.5, "p_f": 0.5, "acc": 0.5, "AUROC": 0.75}
    assert rows["score", "clip", "relations", "p_c"]["value"] is None
    assert rows[LOG_PROBABILITY, None, "relations", "acc_r"]["value"] == 1
    told = {(row["metric"], row["scorer"], row["against"]): row["difference"] for row in differences
            if row["measure"] == "acc_r" and row["category"] == "relations"}  # fmt: skip
    assert told["score", "uniter", LOG_PROBABILITY] == -0.5


def test_without_a_language_model(tmp_path, files):
    rows, _ = measure(tmp_path, {**files, "model": [], "tokens": []})
    assert {metric for metric, *_ in rows} == {"score"}


def test_log_probabilities_of_words_by_hand(tmp_path):
    (tmp_path / "given.arpa").write_text(ARPA)
    tokens = [
        {"image_id": "x", "caption_index": index, "tokens": text}
        for index, text in enumerate(("a b", "c", "a unknown", ""))
    ]
    scores = language_scores(read_arpa(tmp_path / "given.arpa"), {"set": tokens})
    assert (scores.metric, scores.scorer) == ("log-probability", None)
    by_hand = (
        (math.log(0.5) + math.log(0.1) + math.log(1)) / 3,
        (math.log(0.01) + math.log(0.01)) / 2,  # c, and the end without a context
        (math.log(0.5) + math.log(0.01)) / 2,  # a word that is not known does not count
        math.log(0.01),  # the end alone
    )
    for index, value in enumerate(by_hand):
        assert scores["set/x", index] == pytest.approx(value, abs=1e-5)
