"""Values of roles and of constructed captions, against loops that do what the definitions say."""

from collections import Counter
from dataclasses import replace
from statistics import fmean

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import binomtest

from captionlab.evaluation.metrics.nlg.metric import METEOR_STATISTICS, NLG
from captionlab.evaluation.summary import Job
from captionlab.language.schemas import MEASURES
from captionlab.papers.probing.constructed import FEWEST, NEXT, PrintedScorer, constructed_rows
from captionlab.papers.probing.summary import (
    CONNECTED,
    CONNECTED_BY,
    HALF_OF_NEIGHBOURS,
    between_rows,
    captioner_results,
    connection_results,
    pattern_rows,
    top_word_results,
)
from captionlab.reporting.runs.roles import difference_rows, fluency, value_rows
from captionlab.statistics.intervals import ANY, RESAMPLES, percentile_interval, resampled_sums, seeds_interval
from captionlab.storage.schemas import ALIGNMENT, TAGGED
from captionlab.texts.ngram import perplexity

NOUNS = "nouns of the top words"
IMAGES = [f"image {number:02d}" for number in range(40)]
SCORERS = {
    "toy-uniter": PrintedScorer("UNITER", 100.0, (0.0, 100.0)),
    "toy-clip": PrintedScorer("CLIP", 1.0, (-100.0, 100.0)),
}
ROLES = {"CE": ["ce-1", "ce-2"], "UNITER": ["u-1", "u-2"], "mix": ["m-1"]}
PARENTS = {"u-1": "ce-2", "u-2": "ce-1", "m-1": "somebody", "somebody": None}
RNG = np.random.default_rng(5)
SCORES = {
    name: {scorer: RNG.normal(10 * len(name), 1.0, len(IMAGES)) / one.factor for scorer, one in SCORERS.items()}
    for names in ROLES.values()
    for name in names
}


def table(kind, rows):
    return pa.table({name: [row[name] for row in rows] for name in kind.columns}, schema=kind.schema)


def alignment(name):
    return [
        {"corpus": "toy", "image_id": image, "caption_index": 0, "scorer": scorer, "score": float(score)}
        for scorer, scores in SCORES[name].items()
        for image, score in zip(IMAGES, scores, strict=True)
    ]


def nlg(cider):
    one = {"captioner": "any", "corpus": "toy", "caption_index": 0, "rouge_l": 0.5, "cider": cider, "meteor": 0.1}
    one |= {f"bleu_{n}": 0.1 for n in range(1, 5)}
    one |= {"bleu_counts": [4, 4, 4, 3, 2, 1, 2, 1, 1, 1], "meteor_statistics": [1.0] * METEOR_STATISTICS}
    return [{**one, "image_id": image} for image in IMAGES]


def measures(rows):
    names = ("words", "unknown", "impossible", "log_prob", "nouns", "distinct_nouns")
    return table(
        MEASURES,
        [
            {
                "corpus": "toy", "image_id": image, "caption_index": 0, "repeated": 0, "perplexity": None,
                **dict(zip(names, row, strict=True)),
            }
            for image, row in zip(IMAGES, rows, strict=False)
        ],
    )  # fmt: skip


def tagged(captions):
    """Captions of the images in order, words with their tags, as ("a", "DET")."""
    rows = [
        {
            "corpus": "toy", "image_id": image, "caption_index": 0, "words": [word for word, _ in caption],
            "lemmas": [word for word, _ in caption], "tags": [tag for _, tag in caption],
        }
        for image, caption in zip(IMAGES, captions, strict=False)
    ]  # fmt: skip
    return table(TAGGED, rows)


def speak(seed):
    """Forty captions of 24 words, the first of them often; words 0 to 8 are nouns, 3 only every other time.

    Of the others those up to 13 are determiners, which connect no nouns, and those after them prepositions.
    """
    generator = np.random.default_rng(seed)
    numbers = np.minimum(generator.geometric(0.12, (len(IMAGES), 7)) - 1, 23)
    return [
        [
            (f"w{n}", "NOUN" if n < 3 or 3 < n < 9 or (n == 3 and place % 4 == 0) else "DET" if n < 14 else "ADP")
            for place, n in enumerate(of)
        ]
        for of in numbers
    ]


@pytest.fixture(scope="module")
def results():
    job = {"evaluation": "main", "decoding": "greedy", "splits": {"toy": "test"}}
    return {
        name: captioner_results(
            Job(name, **job), SCORERS, 3, table(ALIGNMENT, alignment(name)), table(NLG, nlg(len(name) / 10)),
            measures([(5, 1, 1, -6.0, 2, 1), (0, 0, 0, None, 0, 0)] * 20), tagged(speak(len(name))),
        )
        for name in SCORES
    }  # fmt: skip


# ------------------------------------------------------------------------------------------------- intervals
def test_one_training_has_the_interval_of_its_images():
    resampled = np.random.default_rng(0).normal(5.0, 1.0, (1, RESAMPLES))
    images = percentile_interval(resampled)
    assert seeds_interval(np.array([5.2]), images, ANY) == pytest.approx((5.2, *np.quantile(resampled, [0.025, 0.975])))


def test_seeds_count_by_students_t():
    mean, low, high = seeds_interval(np.array([1.0, 2.0, 3.0]), (2.0, 2.0), ANY)
    assert mean == 2.0
    # 4.3027 is the 97.5 % point with two degrees of freedom.
    assert [low, high] == pytest.approx([2.0 - 4.3027 / 3**0.5, 2.0 + 4.3027 / 3**0.5], abs=1e-3)


@pytest.mark.parametrize("seeds", [1.0, 0.0])
def test_the_interval_covers_the_truth(seeds):
    """Seeds and images with their own chance: 95 intervals of 100 hold the truth."""
    generator = np.random.default_rng(2)
    covered = 0
    for _ in range(400):
        scores = seeds * generator.normal(size=(3, 1)) + 2 * generator.normal(size=60) + generator.normal(size=(3, 60))
        drawn = generator.integers(0, 60, (300, 60))
        _, low, high = seeds_interval(scores.mean(1), percentile_interval(scores[:, drawn].mean((0, 2))), ANY)
        covered += low <= 0.0 <= high
    assert covered / 400 >= 0.93


# ---------------------------------------------------------------------------------------------------- roles
def test_values_are_means_over_seeds(results):
    rows = {(row["subject"], row["measure"], row["scorer"]): row for row in value_rows(ROLES, results)}
    row = rows["UNITER", "score", "UNITER"]
    expected = fmean(fmean(100.0 * SCORES[name]["toy-uniter"]) for name in ("u-1", "u-2"))
    assert row["value"] == pytest.approx(expected)
    assert row["ci_low"] < expected < row["ci_high"]
    assert (row["seeds"], row["n"], row["corpus"], row["experiment"]) == (2, 40, "toy", "generated")
    assert rows["CE", "score", "CLIP"]["value"] == pytest.approx(
        fmean(fmean(SCORES[name]["toy-clip"]) for name in ("ce-1", "ce-2"))
    )
    assert rows["mix", "CIDEr", None]["value"] == pytest.approx(100 * 0.3)
    assert rows["mix", "perplexity", None]["value"] == pytest.approx(perplexity(-120.0, 80, 20, 20))
    assert rows["mix", "length", None]["value"] == pytest.approx(2.5)
    assert rows["mix", "repeated nouns", None]["value"] == pytest.approx(0.5)


def test_differences_follow_the_line_of_parents(results):
    rows = {
        (row["subject"], row["measure"], row["scorer"]): row
        for row in difference_rows(ROLES, results, "CE", PARENTS, {"UNITER": ["UNITER"]})
    }
    assert {subject for subject, *_ in rows} == {"UNITER", "mix"}
    row = rows["UNITER", "score", "CLIP"]
    pairs = [
        SCORES["u-1"]["toy-clip"] - SCORES["ce-2"]["toy-clip"],
        SCORES["u-2"]["toy-clip"] - SCORES["ce-1"]["toy-clip"],
    ]
    assert row["difference"] == pytest.approx(np.mean(pairs))
    # Student's t over the two pairs is most of the interval.
    reach = 12.7062 * np.std([pair.mean() for pair in pairs], ddof=1) / 2**0.5
    assert row["ci_high"] - row["difference"] >= reach * 0.999
    assert (row["own"], rows["UNITER", "score", "UNITER"]["own"], rows["UNITER", "CIDEr", None]["own"]) == (
        False, True, None,
    )  # fmt: skip
    # A captioner that no captioner of the reference is an ancestor of is held against all of them.
    mean_of_reference = (SCORES["ce-1"]["toy-clip"] + SCORES["ce-2"]["toy-clip"]) / 2
    assert rows["mix", "score", "CLIP"]["difference"] == pytest.approx(
        np.mean(SCORES["m-1"]["toy-clip"] - mean_of_reference)
    )


def measured(results, measure, of_names):
    """The same results where a measure has these values, and resampled ones around them."""
    generator, place = np.random.default_rng(8), ("toy", measure, None)
    drawn = {name: value * np.exp(0.01 * generator.normal(size=RESAMPLES)) for name, value in of_names.items()}
    return {
        name: {**results[name], place: replace(results[name][place], value=value, resampled=drawn[name])}
        for name, value in of_names.items()
    }


def test_perplexities_are_compared_as_ratios(results):
    """Two trainings by hand: logarithms of the ratios to their parents, Student's t with one degree of freedom."""
    of_names = {"ce-1": 4.0, "ce-2": 5.0, "u-1": 200.0, "u-2": 6.0}
    found, roles = measured(results, "perplexity", of_names), {"CE": ROLES["CE"], "UNITER": ROLES["UNITER"]}
    (row,) = [row for row in difference_rows(roles, found, "CE", PARENTS, {}) if row["measure"] == "perplexity"]
    logs = [np.log(200.0 / 5.0), np.log(6.0 / 4.0)]
    assert row["difference"] == pytest.approx((200.0 * 6.0) ** 0.5 - (4.0 * 5.0) ** 0.5)
    reach = 12.7062 * np.std(logs, ddof=1) / 2**0.5
    ends = [20.0**0.5 * (np.exp(np.mean(logs) + sign * reach) - 1.0) for sign in (-1, 1)]
    assert [row["ci_low"], row["ci_high"]] == pytest.approx(ends, rel=0.01)
    assert row["ci_low"] > -(20.0**0.5), "a perplexity is above 0"
    values = {(row["subject"], row["measure"]): row for row in value_rows(roles, found)}
    ours, theirs = values["UNITER", "perplexity"], values["CE", "perplexity"]
    assert row["difference"] == pytest.approx(ours["value"] - theirs["value"])
    reach = 12.7062 * np.std(np.log([200.0, 6.0]), ddof=1) / 2**0.5
    assert ours["ci_low"] == 1.0 > 1200.0**0.5 * np.exp(-reach), "no perplexity is below 1"


def test_a_captioner_without_parent_is_held_against_the_geometric_mean(results):
    found = measured(results, "perplexity", {"ce-1": 4.0, "ce-2": 9.0, "m-1": 12.0})
    roles = {"CE": ROLES["CE"], "mix": ROLES["mix"]}
    (row,) = [row for row in difference_rows(roles, found, "CE", PARENTS, {}) if row["measure"] == "perplexity"]
    assert row["difference"] == pytest.approx(12.0 - 6.0)


@pytest.mark.parametrize(
    ("measure", "scorer", "bounds"),
    [
        ("BLEU@1", None, (0.0, 100.0)), ("CIDEr", None, (0.0, 1000.0)), ("score", "UNITER", (0.0, 100.0)),
        ("score", "CLIP", (-100.0, 100.0)),
    ],
)  # fmt: skip
def test_intervals_of_values_end_where_the_measure_does(results, measure, scorer, bounds):
    """Student's t of two trainings that have 99 and 91 reaches from 44 to 146, that of 5 and 95 from -522 to 622."""
    place = ("toy", measure, scorer)
    for apart, ends in (((99.0, 91.0), (95 - 12.7062 * 4, 95 + 12.7062 * 4)), ((5.0, 95.0), (50 - 571.8, 50 + 571.8))):
        found = {
            name: {place: replace(results[name][place], value=value, resampled=np.full(RESAMPLES, value))}
            for name, value in zip(ROLES["UNITER"], apart, strict=True)
        }
        (row,) = value_rows({"UNITER": ROLES["UNITER"]}, found)
        assert row["value"] == np.mean(apart)
        expected = max(ends[0], bounds[0]), min(ends[1], bounds[1])
        assert (row["ci_low"], row["ci_high"]) == pytest.approx(expected, abs=0.1)


def test_intervals_of_differences_of_scores_end_where_probabilities_do(results):
    """Differences of 98 and -90 between trainings and parents."""
    place, values = ("toy", "score", "UNITER"), {"ce-1": 95.0, "ce-2": 1.0, "u-1": 99.0, "u-2": 5.0}
    found = {
        name: {place: replace(results[name][place], value=value, resampled=np.full(RESAMPLES, value))}
        for name, value in values.items()
    }
    roles = {"CE": ROLES["CE"], "UNITER": ROLES["UNITER"]}
    (row,) = difference_rows(roles, found, "CE", PARENTS, {})
    assert (row["difference"], row["ci_low"], row["ci_high"]) == (4.0, -100.0, 100.0)


def test_other_images_are_an_error(results):
    job = {"evaluation": "main", "decoding": "greedy", "splits": {"toy": "test"}}
    fewer = captioner_results(
        Job("m-1", **job), SCORERS, 3, table(ALIGNMENT, [r for r in alignment("m-1") if r["image_id"] != IMAGES[3]]),
        table(NLG, nlg(0.1)), measures([(5, 1, 1, -6.0, 2, 1)] * 40), tagged(speak(1)),
    )  # fmt: skip
    with pytest.raises(ValueError, match=r"m-1 and ce-1 .* only one of them has 'image 03'"):
        list(difference_rows(ROLES, {**results, "m-1": fewer}, "CE", PARENTS, {}))


def nouns_of_ten(captions, is_noun):
    counts = Counter(word for caption in captions for word, _ in caption)
    return sum(word in is_noun for word in sorted(counts, key=lambda word: (-counts[word], word))[:10])


def test_nouns_of_the_top_words_against_a_loop():
    captions = speak(3)
    result, verbs = top_word_results(Job("one", "main", "greedy", {"toy": "test"}), tagged(captions), 5)
    assert verbs.value == 0
    words = [pair for caption in captions for pair in caption]
    nouns = {w for w, _ in words if 2 * words.count((w, "NOUN")) >= sum(other == w for other, _ in words)}
    assert "w3" not in nouns
    assert result.value == nouns_of_ten(captions, nouns)
    times = resampled_sums(np.eye(len(IMAGES)), 5)
    drawn = [[c for c, n in zip(captions, of, strict=True) for _ in range(int(n))] for of in times[:100]]
    expected = [nouns_of_ten(sample, nouns) for sample in drawn]
    assert result.resampled[:100].tolist() == expected
    assert len(set(expected)) > 1


def test_fewer_words_than_ten():
    captions = tagged(
        [[("A", "DET"), ("dog", "NOUN"), ("runs", "VERB"), (".", "PUNCT")], [], [("a", "DET"), ("cat", "PROPN")]]
    )
    nouns, verbs = top_word_results(Job("one", "main", "greedy", {"toy": "test"}), captions, 5)
    assert (nouns.metric, nouns.value, verbs.metric, verbs.value) == (NOUNS, 2, "verbs of the top words", 1)
    assert (set(nouns.resampled), set(verbs.resampled)) == ({0, 1, 2}, {0, 1})


def test_unk_is_no_top_word():
    """Ten nouns as often as UNK: one of them would not be among ten words with it."""
    captions = [[(f"noun{n}", "NOUN"), ("UNK", "X")] for n in range(10)]
    nouns, _ = top_word_results(Job("one", "main", "greedy", {"toy": "test"}), tagged(captions), 5)
    assert nouns.value == 10


def test_top_words_of_each_role_against_the_others(results):
    values = {row["subject"]: row["value"] for row in value_rows(ROLES, results) if row["measure"] == NOUNS}
    rows = [row for row in between_rows(ROLES, results, "CE", PARENTS) if row["measure"] == NOUNS]
    assert [(row["subject"], row["against"]) for row in rows] == [("mix", "UNITER"), ("UNITER", "mix")]
    assert [row["difference"] for row in rows] == pytest.approx(
        [values["mix"] - values["UNITER"], values["UNITER"] - values["mix"]]
    )


# Texts like `a/DET cat/NOUN`, with their neighbouring noun phrases, connected ones, and those joined by `and`.
SPOKEN = {
    "a/DET motor/NOUN bike/NOUN but/CCONJ a/DET a/DET road/NOUN": (1, 0, 0),
    "a/DET man/NOUN riding/VERB a/DET red/ADJ horse/NOUN in/ADP a/DET field/NOUN ./PUNCT": (2, 2, 0),
    "near/ADP Rome/PROPN And/CCONJ in/ADP a/DET car/NOUN": (1, 1, 1),
    "a/DET cat/NOUN and/CCONJ a/DET dog/NOUN and/CCONJ sleeping/VERB": (1, 0, 1),
    "standing/VERB": (0, 0, 0),
    # Nouns in a row are one phrase, and phrases that are packed have nothing between them.
    "elephants/NOUN elephants/NOUN elephants/NOUN": (0, 0, 0),
    "a/DET cat/NOUN a/DET dog/NOUN in/ADP a/DET fenced/VERB yard/NOUN": (2, 1, 0),
}


def test_what_connects_neighbouring_noun_phrases():
    captions = [[tuple(pair.split("/")) for pair in text.split()] for text in SPOKEN]
    of_captions = [*SPOKEN.values()]
    found = {
        r.metric: r for r in connection_results(Job("one", "main", "greedy", {"toy": "test"}), tagged(captions), 5)
    }
    assert found[CONNECTED].value == pytest.approx(100 * 4 / 7)
    by_word = {word: found[measure].value for word, measure in CONNECTED_BY.items()}
    assert by_word == pytest.approx({"and": 100 * 2 / 7, "but": 100 / 7, "at": 0.0, "near": 0.0, "of": 0.0})
    # A resample of the images has its own neighbours; one without any has no connected ones.
    times = resampled_sums(np.eye(len(SPOKEN)), 5)
    sums = times @ np.array(of_captions)
    expected = [100 * of[1] / of[0] if of[0] else 0.0 for of in sums]
    assert found[CONNECTED].resampled == pytest.approx(np.array(expected))


def test_words_that_connect_neighbouring_noun_phrases():
    """What stands before the first noun phrase connects nothing, and each word counts once between two phrases."""
    text = "at/ADP a/DET cat/NOUN at/ADP at/ADP a/DET park/NOUN near/ADP a/DET row/NOUN of/ADP cars/NOUN"
    captions = tagged([[tuple(pair.split("/")) for pair in text.split()]])
    results = connection_results(Job("one", "main", "greedy", {"toy": "test"}), captions, 5)
    assert {one.metric: one.value for one in results} == pytest.approx(
        {CONNECTED: 100.0} | {CONNECTED_BY[word]: 100 / 3 for word in ("at", "near", "of")}
        | {CONNECTED_BY[word]: 0.0 for word in ("and", "but")}
    )  # fmt: skip


def test_without_neighbouring_noun_phrases_nothing_is_connected():
    alone = tagged([[("a", "DET"), ("cat", "NOUN")], [("standing", "VERB")]])
    assert list(connection_results(Job("one", "main", "greedy", {"toy": "test"}), alone, 5)) == []


def test_roles_are_held_against_half_of_their_neighbours(results):
    values = {row["subject"]: row for row in value_rows(ROLES, results) if row["measure"] == CONNECTED}
    rows = [row for row in between_rows(ROLES, results, "CE", PARENTS) if row["against"] == HALF_OF_NEIGHBOURS]
    assert {row["subject"] for row in rows} == {"UNITER", "mix"}
    for row in rows:
        ours = values[row["subject"]]
        ends = [ours[name] - 50.0 for name in ("value", "ci_low", "ci_high")]
        assert [row["difference"], row["ci_low"], row["ci_high"]] == pytest.approx(ends)
        assert 0 < ours["value"] < 100


def test_captions_without_words_have_no_perplexity():
    found = fluency(measures([(5, 1, 1, -6.0, 2, 1), (0, 0, 0, None, 0, 0)]))
    assert found["fluency"].to_pylist() == [[-6.0, 4.0], [0.0, 0.0]]


def test_a_captioner_that_says_nothing_has_no_row_of_perplexity(results):
    silent = measures([(0, 0, 0, None, 0, 0)] * len(IMAGES))
    job = Job("u-1", evaluation="main", decoding="greedy", splits={"toy": "test"})
    tables = (table(ALIGNMENT, alignment("u-1")), table(NLG, nlg(0.3)), silent, tagged(speak(3)))
    found = {**results, "u-1": captioner_results(job, SCORERS, 3, *tables)}
    values, differences = [*value_rows(ROLES, found)], [*difference_rows(ROLES, found, "CE", PARENTS, {})]
    measured_of = {role: {row["measure"] for row in values if row["subject"] == role} for role in ROLES}
    assert measured_of["CE"] - measured_of["UNITER"] == {"perplexity"}
    assert "perplexity" in {row["measure"] for row in differences if row["subject"] != "UNITER"}
    assert "perplexity" not in {row["measure"] for row in differences if row["subject"] == "UNITER"}
    numbers = [row[name] for row in values for name in ("value", "ci_low", "ci_high")]
    assert np.isfinite(numbers).all()


def test_shares_of_patterns():
    def row(source, model, role, rank, start, whole):
        return {"corpus": "toy", "source": source, "model": model, "role": role, "rank": rank, "start": start, "whole": whole, "n": 50}  # fmt: skip  # noqa: E501

    patterns = {
        "ce-1": [row("published", "UNITER", "prefix", 1, 0.2, 0.1)],  # nothing in common, so nothing mined
        "u-1": [
            row("mined", None, "sentence", 1, 1.0, 0.8), row("mined", None, "sentence", 2, 0.9, 0.9),
            row("mined", None, "prefix", 1, 0.9, 0.9), row("published", "UNITER", "prefix", 1, 0.3, 0.1),
            row("published", "CLIP", "sentence", 1, 0.7, 0.7), row("published", "UNITER", "prefix", 2, 0.2, 0.1),
        ],
    }  # fmt: skip
    values, differences = pattern_rows({"UNITER": ["u-1"], "CE": ["ce-1"]}, patterns, "CE")
    assert [(row["subject"], row["measure"], row["value"]) for row in values] == [
        ("UNITER", "first pattern", 80.0), ("UNITER", "published prefix", 30.0),
        ("UNITER", "published second prefix", 20.0), ("CE", "first pattern", 0.0),
    ]  # fmt: skip
    of_half = [row["difference"] for row in differences if row["against"] == "half of the images"]
    assert of_half == [30.0, -20.0, -30.0, -50.0]
    # The control: 20 of 100 captions begin with the prefix before, and none follow a pattern of their own.
    before = {row["measure"]: row for row in differences if row["against"] == "CE"}
    assert {measure: row["difference"] for measure, row in before.items()} == pytest.approx(
        {"first pattern": 80.0, "published prefix": 10.0}
    )
    own, other = (binomtest(hits, 50).proportion_ci(method="exact") for hits in (15, 10))
    reach = 100 * ((0.3 - own.low) ** 2 + (other.high - 0.2) ** 2) ** 0.5
    assert before["published prefix"]["ci_low"] == pytest.approx(10.0 - reach)
    for row, hits in zip(values, (40, 15, 10, 0), strict=True):
        exact = binomtest(hits, 50).proportion_ci(method="exact")
        assert [row["ci_low"], row["ci_high"]] == pytest.approx([100 * exact.low, 100 * exact.high])


# ------------------------------------------------------------------------------------- constructed captions
WAYS = [
    ("replacement", "nouns", None, 0.5),
    ("replacement", "others", None, 0.5),
    ("template", "CLIP", "published", 2.0),
    ("template", "UNITER", "published", 2.0),
    ("count", "CLIP", "published", 3.0),
    ("count", "CLIP", "published", 5.0),
]
# Three, four and seven nouns in a template.
STEPS = (3.0, 4.0, 7.0)


def constructed():
    """Scores of six ways for each image, but for every fourth image none that has five nouns."""
    generator = np.random.default_rng(9)
    constructions, scores = [], []
    for number, image in enumerate(IMAGES):
        ways = WAYS[:-1] if number % 4 == 0 else WAYS
        for index, (experiment, subject, source, level) in enumerate(ways):
            key = {"corpus": "toy", "image_id": image, "caption_index": index}
            # The number of nouns that fill a template differs by image.
            level = level + number % 2 if experiment == "template" else level
            constructions.append(
                {**key, "experiment": experiment, "subject": subject, "source": source, "level": level}
            )
            scores += [
                {**key, "scorer": name, "score": float(generator.normal(40.0)) / one.factor}
                for name, one in SCORERS.items()
            ]
    return constructions, scores


def test_constructed_captions_against_a_loop():
    constructions, scores = constructed()
    values, differences = constructed_rows([(constructions, scores, alignment("ce-1"))], SCORERS, "CE", 1)
    by_key = {(row["image_id"], row["caption_index"], row["scorer"]): row["score"] for row in scores}
    before = dict(zip(IMAGES, SCORES["ce-1"]["toy-clip"], strict=True))
    rows = {(r["experiment"], r["subject"], r["level"], r["measure"], r["scorer"]): r for r in values}

    found = rows["template", "UNITER", None, "score", "CLIP"]
    assert found["value"] == pytest.approx(fmean(by_key[image, 3, "toy-clip"] for image in IMAGES))
    assert (found["n"], found["seeds"]) == (40, 1)
    found = rows["template", "UNITER", None, "preferred", "CLIP"]
    assert found["value"] == pytest.approx(
        100 * fmean(by_key[image, 3, "toy-clip"] > before[image] for image in IMAGES)
    )
    fives = [image for number, image in enumerate(IMAGES) if number % 4]
    found = rows["count", "CLIP", 5.0, "score", "UNITER"]
    assert found["value"] == pytest.approx(100 * fmean(by_key[image, 5, "toy-uniter"] for image in fives))
    assert found["n"] == 30
    chosen = {
        subject: rows[experiment, subject, None, "chosen", "CLIP"]["value"]
        for experiment, subject in (("generated", "CE"), ("template", "CLIP"), ("template", "UNITER"))
    }
    best = [
        max([(before[i], "CE"), (by_key[i, 2, "toy-clip"], "CLIP"), (by_key[i, 3, "toy-clip"], "UNITER")])[1]
        for i in IMAGES
    ]
    assert chosen == pytest.approx({name: 100 * best.count(name) / 40 for name in ("CE", "CLIP", "UNITER")})

    apart = {
        (r["experiment"], r["subject"], r["level"], r["measure"], r["scorer"], r["against"]): r for r in differences
    }
    found = apart["replacement", "nouns", 0.5, "score", "CLIP", "others"]
    assert found["difference"] == pytest.approx(
        fmean(by_key[image, 0, "toy-clip"] - by_key[image, 1, "toy-clip"] for image in IMAGES)
    )
    found = apart["count", "CLIP", 5.0, "score", "CLIP", FEWEST]
    assert found["difference"] == pytest.approx(
        fmean(by_key[image, 5, "toy-clip"] - by_key[image, 4, "toy-clip"] for image in fives)
    )
    assert found["own"] is True
    found = apart["template", "UNITER", None, "score", "CLIP", "CE"]
    assert found["own"] is False
    assert found["difference"] == pytest.approx(fmean(by_key[image, 3, "toy-clip"] - before[image] for image in IMAGES))
    assert found["ci_low"] < found["difference"] < found["ci_high"]
    assert ("count", "CLIP", 3.0, "score", "CLIP", FEWEST) not in apart


def test_more_nouns_are_held_against_the_next_fewer_step_by_step():
    """Scores rise from 10 to 40 and fall to 30; every fourth image has not seven nouns."""
    made, scores = [], []
    for number, image in enumerate(IMAGES):
        steps = STEPS[:2] if number % 4 == 0 else STEPS
        for index, (level, score) in enumerate(zip(steps, (0.1, 0.4, 0.3), strict=False)):
            key = {"corpus": "toy", "image_id": image, "caption_index": index}
            made.append({**key, "experiment": "count", "subject": "UNITER", "source": "published", "level": level})
            scores += [{**key, "scorer": name, "score": score} for name in SCORERS]
    _, differences = constructed_rows([(made, scores, alignment("ce-1"))], SCORERS, "CE", 1)
    of_uniter = [row for row in differences if row["scorer"] == "UNITER" and row["measure"] == "score"]
    steps = {row["level"]: (row["difference"], row["n"], row["own"]) for row in of_uniter if row["against"] == NEXT}
    assert steps == {4.0: (pytest.approx(30.0), 40, True), 7.0: (pytest.approx(-10.0), 30, True)}
    fewest = {row["level"]: row["difference"] for row in of_uniter if row["against"] == FEWEST}
    assert fewest == pytest.approx({4.0: 30.0, 7.0: 20.0})


def test_little_effect_is_within_a_twentieth_of_the_score():
    """Scores of 50 fall by 1 or by 4 when other words are replaced, and by as much when nouns are."""
    before = [
        {"corpus": "toy", "image_id": image, "caption_index": 0, "scorer": "toy-uniter", "score": 0.5}
        for image in IMAGES
    ]
    made = [
        {
            "corpus": "toy", "image_id": image, "caption_index": index,
            **dict(zip(("experiment", "subject", "source", "level"), way, strict=True)),
        }
        for image in IMAGES
        for index, way in enumerate(WAYS[:2])
    ]  # fmt: skip
    for fall, near in ((0.01, 1.5), (-0.01, 1.5), (0.04, -1.5)):
        scores = [{**row, "caption_index": i, "score": row["score"] - fall} for row in before for i in range(2)]
        _, differences = constructed_rows([(made, scores, before)], SCORERS, "CE", 1)
        (row,) = (row for row in differences if row["measure"] == "nearness of score")
        assert (row["subject"], row["level"], row["scorer"], row["against"]) == ("others", 0.5, "UNITER", "CE")
        assert row["difference"] == pytest.approx(near)
        # All images are alike, and a score is no share.
        assert row["ci_low"] == pytest.approx(near)


def test_a_scorer_that_changes_little_with_more_nouns():
    """UNITER gives 80 to three nouns and 81 or 90 to five; images that have not five nouns do not count."""
    for rise, near in ((0.01, 3.0), (0.1, -6.0)):
        made, scores = [], []
        for number, image in enumerate(IMAGES):
            for index, level in enumerate([3.0] if number % 4 == 0 else [3.0, 5.0]):
                key = {"corpus": "toy", "image_id": image, "caption_index": index}
                made.append({**key, "experiment": "count", "subject": "UNITER", "source": "published", "level": level})
                score = 0.5 if number % 4 == 0 else 0.8 + rise * index
                scores += [{**key, "scorer": name, "score": score} for name in SCORERS]
        _, differences = constructed_rows([(made, scores, alignment("ce-1"))], SCORERS, "CE", 1)
        (row,) = (row for row in differences if row["measure"] == "nearness of score")
        assert (row["subject"], row["level"], row["scorer"], row["against"]) == ("UNITER", 5.0, "UNITER", FEWEST)
        assert (row["own"], row["n"]) == (True, 30)
        assert row["difference"] == pytest.approx(near)


def test_constructed_captions_of_several_seeds():
    constructions, scores = constructed()
    higher = [{**row, "score": row["score"] + 1.0 / SCORERS[row["scorer"]].factor} for row in scores]
    parts = [(constructions, scores, alignment("ce-1")), (constructions, higher, alignment("ce-2"))]
    values, _ = constructed_rows(parts, SCORERS, "CE", 1)
    (one,) = constructed_rows(parts[:1], SCORERS, "CE", 1)[0][:1]
    assert values[0]["seeds"] == 2
    assert values[0]["value"] == pytest.approx(one["value"] + 0.5)
    # Half a point apart on each side: 12.7 times 0.5.
    assert values[0]["ci_high"] - values[0]["value"] > 12.7 * 0.5


@pytest.mark.parametrize(("scorer", "lowest"), [("UNITER", 0.0), ("CLIP", -100.0)])
def test_intervals_of_constructed_captions_end_where_the_scores_do(scorer, lowest):
    """Scores of 0.01 and 99 in two seeds: Student's t over both leaves every range."""
    made = [
        {"corpus": "toy", "image_id": image, "caption_index": 0, "experiment": "count", "subject": "UNITER",
         "source": "published", "level": 3.0}
        for image in IMAGES
    ]  # fmt: skip
    name = next(name for name, one in SCORERS.items() if one.label == scorer)
    key = {"corpus": "toy", "caption_index": 0, "scorer": name}
    before, low, high = (
        [{**key, "image_id": image, "score": score / SCORERS[name].factor} for image in IMAGES]
        for score in (50.0, 0.01, 99.0)
    )
    parts = [(made, scores, before) for scores in (low, high)]
    values, differences = constructed_rows(parts, SCORERS, "CE", 1)
    (value,) = (row for row in values if row["measure"] == "score")
    assert (value["scorer"], value["ci_low"], value["ci_high"]) == (scorer, lowest, 100.0)
    (difference,) = (row for row in differences if row["measure"] == "score")
    assert (difference["ci_low"], difference["ci_high"]) == (lowest - 100.0, 100.0 - lowest)
