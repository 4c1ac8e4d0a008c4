"""Strengths, win rates and measures of the model, against published numbers, closed forms and simulated preferences."""

import math
from itertools import combinations

import numpy as np
import pytest
from scipy.stats import binom

from captionlab.comparisons.ranking import ADDED, ranking_rows, strengths
from captionlab.comparisons.schemas import (
    AGREEMENT,
    FIRST,
    FIRST_SHARE,
    OWN_FIRST,
    OWN_SECOND,
    SECOND,
    STRENGTH,
    TIE,
    TIES,
    UNANSWERED,
    WIN_RATE,
)
from captionlab.statistics.intervals import unseen


def preference(image, answer, order=OWN_FIRST, captioner="a", against="b", asked=True):
    pair = {"captioner": captioner, "against": against, "order": order}
    return {"corpus": "coco", "image_id": str(image), **pair, "asked": asked, "answer": answer, "reason": None}


def both(image, first, second, **names):
    """The answers in both orders."""
    return [preference(image, first, **names), preference(image, second, OWN_SECOND, **names)]


def measured(rows, names=("a", "b"), seed=1):
    return {(row["measure"], row["captioner"], row["against"]): row for row in ranking_rows(rows, list(names), seed)}


# Games between the teams of the American League in 1987, home and away: Agresti 1990, Categorical Data Analysis, table
# 10.10. Strengths over Baltimore's as in the documentation of the R package BradleyTerry2 (Turner and Firth 2012).
TEAMS = {
    "Milwaukee": ([0, 7, 9, 7, 7, 9, 11], 1.5814),
    "Detroit": ([6, 0, 7, 5, 11, 9, 9], 1.4364),
    "Toronto": ([4, 6, 0, 7, 7, 8, 12], 1.2945),
    "New York": ([6, 8, 6, 0, 6, 7, 10], 1.2476),
    "Boston": ([6, 2, 6, 7, 0, 7, 12], 1.1077),
    "Cleveland": ([4, 4, 5, 6, 6, 0, 6], 0.6839),
    "Baltimore": ([2, 4, 1, 3, 1, 7, 0], 0.0),
}


def test_strengths_of_published_games():
    wins = np.array([row for row, _ in TEAMS.values()], dtype=float)
    found = strengths(wins)
    assert found.mean() == pytest.approx(0, abs=1e-12)
    assert found - found[-1] == pytest.approx([strength for _, strength in TEAMS.values()], abs=5e-5)


def test_strengths_of_a_library():
    """By choix 0.4.1: ilsr_pairwise_dense(wins, alpha=0, tol=1e-14), and opt_pairwise on four times as many games."""
    wins = np.array([[0, 12.5, 7, 19.25], [8.5, 0, 10.75, 15], [14, 9.5, 0, 11.25], [2.5, 6, 9.75, 0]])
    assert strengths(wins) == pytest.approx([0.33943681, 0.16021281, 0.18555619, -0.68520581], abs=1e-8)


@pytest.mark.parametrize(("won", "lost"), [(7.5, 2.5), (0.5, 20.5), (3.0, 3.0)])
def test_two_strengths_have_a_closed_form(won, lost):
    first, second = strengths(np.array([[0, won], [lost, 0]]))
    assert first - second == pytest.approx(math.log(won / lost), abs=1e-9)


def test_strengths_of_several_matrices_at_once():
    random = np.random.default_rng(3)
    wins = random.uniform(0.5, 9, (5, 4, 4)) * (1 - np.eye(4))
    assert strengths(wins) == pytest.approx(np.stack([strengths(one) for one in wins]), abs=1e-8)


def test_a_captioner_that_always_wins_has_no_strength_without_an_added_tie():
    with pytest.raises(ValueError, match="add a tie to every pair"):
        strengths(np.array([[0.0, 3.0, 2.0], [0.0, 0.0, 2.0], [0.0, 1.0, 0.0]]))


def test_the_start_does_not_change_strengths():
    wins = np.array([[0, 12.5, 7], [8.5, 0, 10.75], [14, 9.5, 0]])
    for start in ([30, 0, -30], [-8, 9, 0], [1, 1, 1]):
        assert strengths(wins, np.array(start, dtype=float)) == pytest.approx(strengths(wins), abs=1e-9)


def expected_wins(logs, games):
    """How often each captioner is expected to win, of the same number of games between every two."""
    return [
        games * math.fsum(1 / (1 + math.exp(other - own)) for rank, other in enumerate(logs) if rank != place)
        for place, own in enumerate(logs)
    ]


@pytest.mark.parametrize("images", [500, 5_000, 1_000_000])
@pytest.mark.parametrize("number", [2, 3, 8])
def test_strengths_of_a_clear_order_and_of_many_images(images, number):
    """The expected wins under the most probable strengths are the wins."""
    wins = np.triu(np.full((number, number), images + ADDED), 1) + np.tril(np.full((number, number), ADDED), -1)
    logs = strengths(wins)
    assert expected_wins(logs, images + 2 * ADDED) == pytest.approx(list(wins.sum(axis=1)), rel=1e-9)
    assert logs == pytest.approx(-logs[::-1], abs=1e-8)


def ordered(random, names, images, rates):
    """Preferences without a bias of the order: the first of a pair wins on a share of the images."""
    return [
        row
        for pair in combinations(names, 2)
        for image, wins in enumerate(random.uniform(size=images) < rates[pair])
        for row in both(image, *((FIRST, SECOND) if wins else (SECOND, FIRST)), captioner=pair[0], against=pair[1])
    ]


@pytest.mark.parametrize(
    ("images", "rates"),
    [
        (1_000, (1.0, 0.999, 0.5)),
        (2_000, (1.0, 1.0, 0.5)),
        (5_000, (1.0, 1.0, 0.5)),
        (5_000, (0.998, 0.998, 0.5)),
        (5_000, (0.0, 1.0, 1.0)),
    ],
)
def test_captioners_that_nearly_always_win_on_many_images(images, rates):
    names = ("a", "b", "c")
    random = np.random.default_rng(images)
    found = measured(ordered(random, names, images, dict(zip(combinations(names, 2), rates, strict=True))), names)
    won = {name: 0.0 for name in names}
    for a, b in combinations(names, 2):
        won[a] += images * found[WIN_RATE, a, b]["value"] + ADDED
        won[b] += images * (1 - found[WIN_RATE, a, b]["value"]) + ADDED
    rows = [found[STRENGTH, name, None] for name in names]
    assert expected_wins([row["value"] for row in rows], images + 2 * ADDED) == pytest.approx([*won.values()], rel=1e-9)
    assert all(row["ci_low"] <= row["value"] <= row["ci_high"] for row in rows)
    assert all(row["ci_low"] < row["ci_high"] for row in rows)


def test_eight_captioners_in_a_clear_order():
    names = tuple("abcdefgh")
    rates = dict.fromkeys(combinations(names, 2), 1.0)
    found = measured(ordered(np.random.default_rng(8), names, 500, rates), names)
    values = [found[STRENGTH, name, None]["value"] for name in names]
    assert values == sorted(values, reverse=True)
    # The strongest loses the halves of its 7 added ties, nearly all of them against the second.
    assert values[0] - values[1] == pytest.approx(math.log((501 - 3.5) / 3.5), abs=0.05)
    assert math.fsum(values) == pytest.approx(0, abs=1e-9)


def test_numbers_are_those_counted_by_hand():
    rows = [
        *both(1, FIRST, SECOND),  # a wins in both orders
        *both(2, FIRST, FIRST),  # each wins once
        *both(3, TIE, SECOND),  # 3/4 of a win for a
        *both(4, TIE, TIE),
        *both(5, None, FIRST),  # no answer in one order: the image does not count for a win rate
        preference(6, TIE, asked=False),  # identical captions
        preference(6, TIE, OWN_SECOND, asked=False),
    ]
    found = measured(rows)
    assert len(found) == 2 + 1 + 4
    rate = found[WIN_RATE, "a", "b"]
    won = 1 + 0.5 + 0.75 + 0.5 + 0.5
    assert (rate["value"], rate["images"], rate["n"]) == (pytest.approx(won / 5), 5, 5)
    assert rate["ci_low"] < rate["value"] < rate["ci_high"]
    expected = math.log((won + ADDED) / (5 - won + ADDED)) / 2
    assert found[STRENGTH, "a", None]["value"] == pytest.approx(expected, abs=1e-9)
    assert found[STRENGTH, "b", None]["value"] == pytest.approx(-expected, abs=1e-9)
    model = {measure: found[measure, None, None] for measure in (AGREEMENT, FIRST_SHARE, TIES, UNANSWERED)}
    assert {name: (row["value"], row["images"], row["n"]) for name, row in model.items()} == {
        AGREEMENT: (pytest.approx(2 / 4), 4, 4),
        FIRST_SHARE: (pytest.approx(4 / 6), 4, 6),
        TIES: (pytest.approx(3 / 9), 5, 9),
        UNANSWERED: (pytest.approx(1 / 10), 5, 10),
    }
    assert all(row["ci_low"] < row["value"] < row["ci_high"] for row in model.values())


def test_a_model_that_always_says_first_prefers_nobody():
    names = ("a", "b", "c")
    rows = [
        row
        for image in range(20)
        for captioner, against in combinations(names, 2)
        for row in both(image, FIRST, FIRST, captioner=captioner, against=against)
    ]
    found = measured(rows, names)
    assert {found[WIN_RATE, *pair]["value"] for pair in combinations(names, 2)} == {0.5}
    assert [found[STRENGTH, name, None]["value"] for name in names] == pytest.approx([0, 0, 0], abs=1e-12)
    assert found[AGREEMENT, None, None]["value"] == 0
    assert found[FIRST_SHARE, None, None]["value"] == 1
    assert found[FIRST_SHARE, None, None]["ci_low"] > 0.75


def test_a_captioner_that_always_wins_is_the_strongest_with_a_finite_strength():
    rows = [row for image in range(10) for row in both(image, FIRST, SECOND)]
    found = measured(rows)
    strength = found[STRENGTH, "a", None]
    assert strength["value"] == strength["ci_high"] == pytest.approx(math.log(10.5 / 0.5) / 2, abs=1e-9)
    # The lower end is of the win rate 1 - unseen(10): a share of other images that all lose.
    lost = 10 * unseen(10)
    assert strength["ci_low"] == pytest.approx(math.log((10.5 - lost) / (0.5 + lost)) / 2, abs=0.06)  # of 2,000 draws
    rate = found[WIN_RATE, "a", "b"]
    assert (rate["value"], rate["ci_high"]) == (1.0, 1.0)
    assert 0.6 < rate["ci_low"] < 0.8


def test_without_answers_there_are_no_numbers():
    found = measured([row for image in range(3) for row in both(image, None, None)])
    assert {key[0]: row["value"] for key, row in found.items()} == {
        STRENGTH: None, WIN_RATE: None, AGREEMENT: None, FIRST_SHARE: None, TIES: None, UNANSWERED: 1.0,
    }  # fmt: skip


def test_of_one_image_there_are_no_intervals():
    rows = ranking_rows(both(1, FIRST, SECOND), ["a", "b"], 1)
    assert {row["ci_low"] for row in rows} == {None}


def test_corpora_are_ranked_apart():
    rows = [*both(1, FIRST, SECOND), *({**row, "corpus": "nocaps"} for row in both(1, SECOND, FIRST))]
    rates = {row["corpus"]: row["value"] for row in ranking_rows(rows, ["a", "b"], 1) if row["measure"] == WIN_RATE}
    assert rates == {"coco": 1.0, "nocaps": 0.0}


TRUE = np.array([0.9, 0.3, -0.2, -1.0])
NAMES = ("a", "b", "c", "d")


def simulated(random, images, agreement):
    """Preferences by strengths TRUE; with the probability `agreement`, the second order has the verdict of the first.

    All pairs of an image share a random number with that probability, too, so that they depend on each other.
    """
    rows = []
    for image in range(images):
        shared = random.uniform()
        for a, b in combinations(range(len(TRUE)), 2):
            wins = 1 / (1 + math.exp(TRUE[b] - TRUE[a]))
            draw = shared if random.uniform() < agreement else random.uniform()
            again = draw if random.uniform() < agreement else random.uniform()
            answers = FIRST if draw < wins else SECOND, SECOND if again < wins else FIRST
            rows += both(image, *answers, captioner=NAMES[a], against=NAMES[b])
    return rows


def test_strengths_of_captioners_that_always_tie_have_intervals():
    row = measured([row for image in range(10) for row in both(image, TIE, TIE)])[STRENGTH, "a", None]
    assert row["value"] == 0
    assert row["ci_low"] == pytest.approx(-row["ci_high"], abs=0.05)
    assert row["ci_high"] > 0.2


@pytest.mark.slow
def test_intervals_cover_known_strengths_and_win_rates_in_200_draws():
    draws, random = 200, np.random.default_rng(44)
    covered = {key: 0 for key in [*NAMES, *combinations(NAMES, 2)]}
    ranked = 0
    for draw in range(draws):
        found = measured(simulated(random, 150, 0.6), NAMES, seed=draw)
        for name, strength in zip(NAMES, TRUE, strict=True):
            row = found[STRENGTH, name, None]
            covered[name] += row["ci_low"] <= strength <= row["ci_high"]
        for (name, other), (a, b) in zip(combinations(NAMES, 2), combinations(TRUE, 2), strict=True):
            row = found[WIN_RATE, name, other]
            covered[name, other] += row["ci_low"] <= 1 / (1 + math.exp(b - a)) <= row["ci_high"]
        values = [found[STRENGTH, name, None]["value"] for name in NAMES]
        ranked += values == sorted(values, reverse=True)
    # Ten intervals are looked at, each with a chance of 1 in 1000 to be outside.
    low, high = binom.interval(0.999, draws, 0.95)
    print(covered, (low, high), ranked)
    assert all(low <= number <= high for number in covered.values())
    assert ranked >= 0.99 * draws
