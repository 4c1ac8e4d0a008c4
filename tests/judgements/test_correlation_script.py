"""From tables of scores of single captions to tables of how far each metric agrees with those who judged them."""

import math
from itertools import combinations

import numpy as np
import pytest
from scipy.stats import kendalltau
from support.running import run_script

from captionlab.evaluation.metrics.alignment import metric as alignment
from captionlab.evaluation.metrics.nlg import metric as nlg
from captionlab.evaluation.metrics.retrieval import metric as retrieval
from captionlab.evaluation.metrics.spice import metric as spice
from captionlab.judgements.schemas import CANDIDATES, CORRELATIONS, DIFFERENCES, PREFERENCES, RATINGS, SLICES
from captionlab.storage.schemas import ALIGNMENT
from captionlab.storage.tables import read_table, write_table

KEYS = [(f"image{n}", index) for n in range(20) for index in range(3)]
OF_CAPTION = {
    "BLEU@1": "bleu_1", "BLEU@2": "bleu_2", "BLEU@3": "bleu_3", "BLEU@4": "bleu_4", "METEOR": "meteor",
    "ROUGE-L": "rouge_l", "CIDEr": "cider",
}  # fmt: skip


def scores(seed):
    return np.random.default_rng(seed).random(len(KEYS))


def write_set(folder, name="toy", first=0):
    """Score tables of the captions of a set, of which SPICE has none, and candidates, ratings and preferences.

    The seeds of scores and ratings begin at `first`.
    """
    tables = ("nlg", "spice", "alignment", "candidates", "ratings", "preferences")
    found = {table: folder / f"{table}.parquet" for table in tables}
    images, indices = map(list, zip(*KEYS, strict=True))
    base = {"corpus": [name] * len(KEYS), "image_id": images, "caption_index": indices}
    columns = {column: scores(first + seed) for seed, column in enumerate(OF_CAPTION.values())}
    counts = {"bleu_counts": [[0] * 10] * len(KEYS), "meteor_statistics": [[0.0] * 23] * len(KEYS)}
    write_table(found["nlg"], nlg.NLG, {"captioner": [name] * len(KEYS), **base, **columns, **counts})
    write_table(found["spice"], spice.SPICE, [])
    by_two = [{"corpus": name, "image_id": image, "caption_index": index, "scorer": scorer, "score": value}
              for seed, scorer in ((20, "uniter"), (21, "clip"))
              for (image, index), value in zip(KEYS, scores(first + seed), strict=True)]  # fmt: skip
    write_table(found["alignment"], ALIGNMENT, by_two)
    ratings = [{"image_id": image, "caption_index": index, "judge": judge, "rating": float(1 + round(3 * value))}
               for judge in "ab" for (image, index), value in zip(KEYS, scores(first + 6), strict=True)]  # fmt: skip
    write_table(found["ratings"], RATINGS, ratings)
    write_table(found["preferences"], PREFERENCES, [])
    candidates = [{"image_id": image, "caption_index": index, "caption": "a word " * (index + 1), "judgements": 2,
                   "source": "a person" if index else None} for image, index in KEYS]  # fmt: skip
    write_table(found["candidates"], CANDIDATES, candidates)
    return found


@pytest.fixture
def files(tmp_path):
    return write_set(tmp_path)


def correlate(sets, made, **files):
    """Run the rule on sets: the files of each by name."""
    given = {table: [of[table] for of in sets.values()] for table in next(iter(sets.values()))}
    pool = {"judgements": "+".join(sets)}
    factors = {"uniter": 100.0, "clip": 1.0}
    run_script("correlate_judgements", {**given, **files}, made, wildcards=pool, factors=factors, seed=1)


def tau_c(scores, ratings):
    """Stuart's tau-c from every two observations."""
    found = sum(
        np.sign(x[0] - y[0]) * np.sign(x[1] - y[1]) for x, y in combinations(zip(scores, ratings, strict=True), 2)
    )
    levels = min(len({*scores}), len({*ratings}))
    return 2 * found / (len(scores) ** 2 * (levels - 1) / levels)


def test_every_metric_of_the_tables_is_held_against_the_judgements(files, tmp_path):
    made = {name: tmp_path / f"{name}.parquet" for name in ("correlations", "differences", "slices")}
    correlate({"toy": files}, made, retrieval=[tmp_path / "retrieval.parquet"])  # which is not asked
    rows = read_table(made["correlations"], CORRELATIONS).to_pylist()
    taus = {(row["metric"], row["scorer"]): row for row in rows if row["coefficient"] == "tau-b"}
    unnamed = [*OF_CAPTION, "SPICE"]
    assert [*taus] == [*((name, None) for name in unnamed), ("score", "uniter"), ("score", "clip")]
    ratings = 2 * [1 + round(3 * value) for value in scores(6)]
    for seed, name in enumerate(OF_CAPTION):
        expected = kendalltau([*scores(seed), *scores(seed)], ratings)[0]
        assert taus[name, None]["value"] == pytest.approx(expected, abs=1e-12)
    assert taus["score", "clip"]["value"] == pytest.approx(kendalltau([*scores(21), *scores(21)], ratings)[0])
    assert taus["CIDEr", None]["value"] > 0.8
    assert taus["SPICE", None]["value"] is None
    assert {row["n"] for row in rows} == {0, 120}
    differences = read_table(made["differences"], DIFFERENCES).to_pylist()
    assert len(differences) == 3 * math.comb(len(taus) - 1, 2)
    # Captions of 2 and 4 words, and of 6, and those of a source. The scores of METEOR are of seed 4.
    slices = read_table(made["slices"], SLICES).to_pylist()
    assert [*dict.fromkeys((row["by"], row["slice"], row["n"]) for row in slices if row["metric"] == "METEOR")] == [
        ("length", "0 to 5 words", 80), ("length", "6 to 10 words", 40), ("source", "a person", 80),
    ]  # fmt: skip
    of = {(row["slice"], row["coefficient"]): row["value"] for row in slices if row["metric"] == "METEOR"}
    last = [place for place, (_, index) in enumerate(KEYS) if index == 2]
    rated = [1 + round(3 * scores(6)[place]) for place in last]
    expected = kendalltau([*scores(4)[last], *scores(4)[last]], [*rated, *rated])[0]
    assert of["6 to 10 words", "tau-b"] == pytest.approx(expected, abs=1e-12)


def test_judgements_of_several_sets_count_together(tmp_path):
    """Images of two corpora that have one id are two images."""
    sets = {}
    for first, name in ((0, "one"), (100, "two")):
        (tmp_path / name).mkdir()
        sets[name] = write_set(tmp_path / name, name, first)
    made = {name: tmp_path / f"{name}.parquet" for name in ("correlations", "differences", "slices")}
    correlate(sets, made)
    rows = read_table(made["correlations"], CORRELATIONS).to_pylist()
    found = {(row["metric"], row["scorer"]): row for row in rows if row["coefficient"] == "tau-c"}
    ratings = [1 + round(3 * value) for first in (0, 100) for value in [*scores(first + 6)] * 2]
    for (metric, scorer), seed in {("BLEU@4", None): 3, ("CIDEr", None): 6, ("score", "clip"): 21}.items():
        of_metric = [value for first in (0, 100) for value in [*scores(first + seed)] * 2]
        row = found[metric, scorer]
        assert row["value"] == pytest.approx(tau_c(of_metric, ratings), abs=1e-12)
        assert (row["images"], row["n"]) == (40, 240)
        assert row["ci_low"] < row["value"] < row["ci_high"]
    assert len(found) == 10
    of_slices = {(row["slice"], row["images"], row["n"]) for row in read_table(made["slices"], SLICES).to_pylist()}
    assert of_slices >= {("6 to 10 words", 40, 80), ("a person", 40, 160)}
    pairs = {row["images"] for row in read_table(made["differences"], DIFFERENCES).to_pylist()}
    assert pairs == {40}


def test_what_tables_have_of_single_captions(files):
    found = {one.metric: one for one in nlg.of_captions(str(files["nlg"]), {})}
    assert [*found] == [*OF_CAPTION]
    assert found["CIDEr"].keys == [("toy", *key) for key in KEYS]
    np.testing.assert_array_equal(found["METEOR"].values, scores(4))
    by_scorer = {one.scorer: one for one in alignment.of_captions(str(files["alignment"]), {"uniter": 100, "clip": 1})}
    np.testing.assert_allclose(by_scorer["uniter"].values, 100 * scores(20))
    np.testing.assert_allclose(by_scorer["clip"].values, scores(21))
    assert [(one.metric, one.keys) for one in spice.of_captions(str(files["spice"]), {})] == [("SPICE", [])]
    assert not list(retrieval.of_captions("", {}))  # a rank among images is no score of a caption
