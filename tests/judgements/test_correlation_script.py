"""From tables of scores of single captions to tables of how far each metric agrees with those who judged them."""

import math

import numpy as np
import pytest
from running import run_script
from scipy.stats import kendalltau

from captionlab.evaluation.metrics.alignment import metric as alignment
from captionlab.evaluation.metrics.nlg import metric as nlg
from captionlab.evaluation.metrics.retrieval import metric as retrieval
from captionlab.evaluation.metrics.spice import metric as spice
from captionlab.judgements.schemas import CORRELATIONS, DIFFERENCES, PREFERENCES, RATINGS
from captionlab.storage.schemas import ALIGNMENT
from captionlab.storage.tables import read_table, write_table

KEYS = [(f"image{n}", index) for n in range(20) for index in range(3)]
OF_CAPTION = {
    "BLEU@1": "bleu_1", "BLEU@2": "bleu_2", "BLEU@3": "bleu_3", "BLEU@4": "bleu_4", "METEOR": "meteor",
    "ROUGE-L": "rouge_l", "CIDEr": "cider",
}  # fmt: skip


def scores(seed):
    return np.random.default_rng(seed).random(len(KEYS))


def base():
    images, indices = map(list, zip(*KEYS, strict=True))
    return {"corpus": ["toy"] * len(KEYS), "image_id": images, "caption_index": indices}


@pytest.fixture
def files(tmp_path):
    """Score tables of the captions, of which SPICE has none, and ratings and preferences."""
    found = {name: tmp_path / f"{name}.parquet" for name in ("nlg", "spice", "alignment", "ratings", "preferences")}
    columns = {name: scores(seed) for seed, name in enumerate(OF_CAPTION.values())}
    counts = {"bleu_counts": [[0] * 10] * len(KEYS), "meteor_statistics": [[0.0] * 23] * len(KEYS)}
    write_table(found["nlg"], nlg.NLG, {"captioner": ["toy"] * len(KEYS), **base(), **columns, **counts})
    write_table(found["spice"], spice.SPICE, [])
    by_two = [{"corpus": "toy", "image_id": image, "caption_index": index, "scorer": scorer, "score": value}
              for seed, scorer in ((20, "uniter"), (21, "clip"))
              for (image, index), value in zip(KEYS, scores(seed), strict=True)]  # fmt: skip
    write_table(found["alignment"], ALIGNMENT, by_two)
    ratings = [{"image_id": image, "caption_index": index, "judge": judge, "rating": float(1 + round(3 * value))}
               for judge in "ab" for (image, index), value in zip(KEYS, scores(6), strict=True)]  # fmt: skip
    write_table(found["ratings"], RATINGS, ratings)
    write_table(found["preferences"], PREFERENCES, [])
    return found


def test_every_metric_of_the_tables_is_held_against_the_judgements(files, tmp_path):
    made = {name: tmp_path / f"{name}.parquet" for name in ("correlations", "differences")}
    given = {name: path if name in ("ratings", "preferences") else [path] for name, path in files.items()}
    given["retrieval"] = [tmp_path / "retrieval.parquet"]  # is not asked
    run_script("correlate_judgements", given, made, factors={"uniter": 100.0, "clip": 1.0}, seed=1)
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
