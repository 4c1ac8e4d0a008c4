"""Values of slices, held against the summary of a corpus that has the images of the slice alone."""

from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from evaluation.test_summary import CHILD, PARENT, nlg_table, retrieval_table
from scipy import stats

from captionlab.evaluation.metrics.nlg.metric import METRICS
from captionlab.evaluation.metrics.retrieval.metric import retrieval_results
from captionlab.evaluation.schemas import SLICED_IMAGES
from captionlab.evaluation.slices import Membership, Slice, read_membership, slice_columns
from captionlab.evaluation.summary import caption_results, summary_columns
from captionlab.statistics.groups import SMALLEST
from captionlab.statistics.multiple import holm
from captionlab.storage.schemas import GENERATED
from captionlab.storage.tables import write_table
from captionlab.texts.lengths import length_ranges

SEED = 7
EVEN = frozenset(f"image{number}" for number in range(0, 30, 2))
FEW = frozenset(f"image{number}" for number in range(SMALLEST - 1))
MOST = frozenset(f"image{number}" for number in range(25))
MEMBERS = Membership(
    images={"toy": {Slice("scene", "even"): EVEN, Slice("scene", "few"): FEW, Slice("object", "most"): MOST}}
)


def rows_of(results, membership=MEMBERS):
    columns, small = slice_columns(results, {"main": membership}, SEED)
    return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)], small


def summary_of(results):
    columns = summary_columns(results, {})
    rows = [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]
    return {row["metric"]: row for row in rows}


def only(table, images):
    return table.filter(pc.is_in(table["image_id"], value_set=pa.array(sorted(images))))


def without(table, images):
    return table.filter(pc.invert(pc.is_in(table["image_id"], value_set=pa.array(sorted(images)))))


@pytest.mark.parametrize("captions", [1, 3])
@pytest.mark.parametrize("images", [EVEN, MOST])
def test_a_slice_has_the_values_and_intervals_of_a_corpus_of_its_images(images, captions):
    table = nlg_table(0, captions=captions)
    rows, _ = rows_of(caption_results(CHILD, table, SEED, METRICS))
    expected = summary_of(caption_results(CHILD, only(table, images), SEED, METRICS))
    rest = summary_of(caption_results(CHILD, without(table, images), SEED, METRICS))
    found = {row["metric"]: row for row in rows if row["slice"] == {EVEN: "even", MOST: "most"}[images]}
    assert found.keys() == expected.keys() == METRICS.keys()
    for metric, row in found.items():
        for name in ("value", "ci_low", "ci_high", "n"):
            assert row[name] == pytest.approx(expected[metric][name], rel=1e-9, abs=1e-9)
        if images == MOST:  # five images are left, which are too few
            assert (row["difference"], row["p_value"], row["test"], row["rest"]) == (None, None, None, 5)
        else:
            assert row["difference"] == pytest.approx(row["value"] - rest[metric]["value"], abs=1e-9)
            assert row["difference_low"] <= row["difference"] <= row["difference_high"]


def test_a_share_of_images_is_tested_by_fishers_test_and_a_mean_by_welchs():
    ranks = [1 + (number % 3) * (number % 5) for number in range(30)]
    rows, _ = rows_of(retrieval_results(CHILD, retrieval_table(ranks), SEED))
    found = {row["metric"]: row for row in rows if row["slice"] == "even"}
    even, odd = np.array(ranks[::2]), np.array(ranks[1::2])
    table = [[(group == 1).sum(), (group > 1).sum()] for group in (even, odd)]
    assert found["P@1"]["p_value"] == pytest.approx(stats.fisher_exact(table).pvalue)
    assert found["P@1"]["difference"] == pytest.approx(100 * ((even == 1).mean() - (odd == 1).mean()))
    expected = stats.ttest_ind(even, odd, equal_var=False)
    assert found["mean rank"]["p_value"] == pytest.approx(expected.pvalue)
    ends = [found["mean rank"][name] for name in ("difference_low", "difference_high")]
    assert ends == pytest.approx(expected.confidence_interval(0.95))
    assert (found["P@1"]["test"], found["mean rank"]["test"]) == ("Fisher", "Welch")
    assert found["P@1"]["retriever"] == "clip"


def test_bleu_is_tested_by_its_values_without_each_image():
    table = nlg_table(3, images=60)
    even = frozenset(f"image{number}" for number in range(0, 60, 2))
    membership = Membership(images={"toy": {Slice("scene", "even"): even}})
    rows, _ = rows_of(caption_results(CHILD, table, SEED, METRICS), membership)
    row = next(row for row in rows if row["metric"] == "BLEU@2")

    def bleu(part):
        return summary_of(caption_results(CHILD, part, SEED, {"BLEU@2": METRICS["BLEU@2"]}))["BLEU@2"]["value"]

    variance = freedom = 0.0
    for part in (only(table, even), without(table, even)):
        ids = part["image_id"].to_pylist()
        values = np.array([bleu(without(part, [image])) for image in ids])
        own = (len(ids) - 1) / len(ids) * ((values - values.mean()) ** 2).sum()
        variance, freedom = variance + own, freedom + own**2 / (len(ids) - 1)
    t = (bleu(only(table, even)) - bleu(without(table, even))) / variance**0.5
    assert row["p_value"] == pytest.approx(2 * stats.t.sf(abs(t), variance**2 / freedom))


def test_the_worst_slice_is_first_and_p_values_are_corrected_for_all_slices():
    generator = np.random.default_rng(0)
    ranks = generator.integers(1, 5, 90).tolist()
    thirds = {Slice("third", str(third)): frozenset(f"image{n}" for n in range(third, 90, 3)) for third in range(3)}
    results = [*retrieval_results(CHILD, retrieval_table(ranks), SEED)]
    rows, _ = rows_of([*results, *retrieval_results(PARENT, retrieval_table(ranks), SEED)], Membership({"toy": thirds}))
    for captioner in ("child", "parent"):
        for metric, sign in (("P@1", 1), ("mean rank", -1)):
            of_metric = [row for row in rows if (row["captioner"], row["metric"]) == (captioner, metric)]
            assert [row["rank"] for row in of_metric] == [1, 2, 3]
            values = [sign * row["value"] for row in of_metric]
            assert values == sorted(values)
            assert [row["p_holm"] for row in of_metric] == holm([row["p_value"] for row in of_metric])


def test_slices_with_few_images_are_counted_and_other_evaluations_left_out():
    results = [*caption_results(CHILD, nlg_table(0), SEED, METRICS)]
    rows, small = rows_of(results)
    assert {row["slice"] for row in rows} == {"even", "most"}
    assert small == {"main, toy, by scene": 1}
    assert slice_columns(results, {"another": MEMBERS}, SEED)[0]["value"] == []


def test_slices_by_length_are_of_captions(tmp_path):
    """An image with a short and a long caption is in both slices, with the caption of each."""
    table = nlg_table(0, captions=2)
    path = tmp_path / "results" / "captions" / "child" / "main.parquet"
    texts = ["a dog", "a very large dog runs over a road in the sun"]
    keys = [(f"image{image}", index) for image in range(30) for index in range(2)]
    rows = [
        {"corpus": "toy", "image_id": image, "caption_index": index, "caption": texts[index], "log_prob": None,
         "confidence": None}
        for image, index in keys
    ]  # fmt: skip
    write_table(path, GENERATED, rows)
    write_table(tmp_path / "members.parquet", SLICED_IMAGES, [])
    membership = read_membership(tmp_path / "members.parquet", [str(path)])
    found, _ = rows_of(caption_results(CHILD, table, SEED, METRICS), membership)
    for index, name in ((0, "0 to 5 words"), (1, "11 to 15 words")):
        expected = summary_of(
            caption_results(CHILD, table.filter(pc.equal(table["caption_index"], index)), SEED, METRICS)
        )
        own = {row["metric"]: row for row in found if row["slice"] == name}
        assert own.keys() == expected.keys()
        assert all(own[metric]["value"] == pytest.approx(expected[metric]["value"]) for metric in expected)
        assert {row["by"] for row in own.values()} == {"length"}
    assert {row["slice"] for row in found} == {"0 to 5 words", "11 to 15 words"}


def test_ranges_of_lengths_follow_each_other():
    ranges = length_ranges()
    assert ranges[0].shortest == 0
    assert all(one.longest + 1 == other.shortest for one, other in pairwise(ranges))
    assert ranges[-1].longest is None
