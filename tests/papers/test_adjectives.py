"""Colours among the adjectives that go with a type of captions, against a loop and against counts by hand."""

import numpy as np
import pytest

from captionlab.language.statistics import associate
from captionlab.papers.discritune.adjectives import COLOURS, MEASURE, TOP, colour_rows
from captionlab.statistics.intervals import RESAMPLES, resampled_sums

COUNT = 40
WORDS = ["red", "green", "blue", "black", "big", "small", "new", "old", "good", "tall", "long", "wide", "young"]


def caption(image: int, adjectives: list[str], corpus: str = "toy") -> dict:
    """A row of TAGGED whose words are their own lemmas."""
    words = ["a", *adjectives, "dog"]
    tags = ["DET", *["ADJ"] * len(adjectives), "NOUN"]
    place = {"corpus": corpus, "image_id": f"{image:02d}", "caption_index": 0}
    return {**place, "words": words, "lemmas": words, "tags": tags}


def spoken(seed: int, weights: list[float]) -> list[dict]:
    """Captions of three adjectives, drawn by these weights."""
    generator, chances = np.random.default_rng(seed), np.array(weights) / sum(weights)
    return [caption(number, [*generator.choice(WORDS, 3, p=chances)]) for number in range(COUNT)]


def on_top(captions: dict[str, list[dict]], name: str) -> int:
    """Colours among the ten adjectives with the largest association."""
    found = associate({one: [(c["words"], c["lemmas"], c["tags"]) for c in of] for one, of in captions.items()})
    ranked = [a for a in found if (a.caption_type, a.tag) == (name, "ADJ") and a.association > 0][:TOP]
    return sum(one.lemma in COLOURS for one in ranked)


def test_colours_against_a_loop():
    captions = {
        "people": spoken(1, [1] * 4 + [3] * 9),
        "plain": spoken(2, [1] * 13),
        "tuned": spoken(3, [4] * 4 + [1] * 9),
    }
    rows = {(row["subject"], row["against"]): row for row in colour_rows(captions, 7)}
    assert len(rows) == 6
    found = rows["tuned", "people"]
    assert (found["experiment"], found["measure"], found["corpus"], found["n"]) == ("adjectives", MEASURE, "toy", COUNT)
    assert found["difference"] == on_top(captions, "tuned") - on_top(captions, "people") > 0
    assert rows["people", "tuned"]["difference"] == -found["difference"]
    # Each resample of the images has its own lists.
    times = resampled_sums(np.eye(COUNT), 7)
    assert len(times) == RESAMPLES
    drawn = []
    for of in times[:300].astype(int):
        sample = {name: [c for c, n in zip(rows, of, strict=True) for _ in range(n)] for name, rows in captions.items()}
        drawn.append(on_top(sample, "tuned") - on_top(sample, "people"))
    assert [found["ci_low"], found["ci_high"]] == pytest.approx(np.quantile(drawn, [0.025, 0.975]), abs=1.0)


@pytest.mark.parametrize(("adjectives", "expected"), [(["red", "blue"], 2), (["funny", "new"], 0), ([], 0)])
def test_colours_by_hand(adjectives, expected):
    captions = {
        "people": [caption(number, ["old"]) for number in range(COUNT)],
        "tuned": [caption(number, adjectives) for number in range(COUNT)],
    }
    rows = {(row["subject"], row["against"]): row for row in colour_rows(captions, 7)}
    found = rows["tuned", "people"]
    assert found["difference"] == expected
    assert (found["ci_low"], found["ci_high"]) == (expected, expected)


def test_a_corpus_of_one_type_has_nothing_to_compare():
    assert list(colour_rows({"people": [caption(1, ["red"])], "tuned": []}, 7)) == []
    assert list(colour_rows({}, 7)) == []
