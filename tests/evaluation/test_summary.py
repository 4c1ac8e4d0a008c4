import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import binomtest, t
from support.running import run_script

from captionlab.evaluation.metrics.alignment import metric as alignment
from captionlab.evaluation.metrics.nlg.metric import METEOR_STATISTICS, METRICS, NLG
from captionlab.evaluation.metrics.retrieval.metric import retrieval_results
from captionlab.evaluation.metrics.spice.metric import SPICE
from captionlab.evaluation.summary import Job, Metric, caption_results, comparison_columns, mean, summary_columns
from captionlab.reporting.runs.reproduction import Reproduction
from captionlab.reporting.runs.values import Coordinates
from captionlab.statistics.intervals import PER_CENT, RESAMPLES
from captionlab.storage.schemas import ALIGNMENT, COMPARISONS, GENERATED, RETRIEVAL, SUMMARY
from captionlab.storage.tables import conform, read_metadata, read_table, write_table

CHILD = Job("child", "main", "beam5", {"toy": "test", "far": "val"})
PARENT = Job("parent", "main", "beam5", {"toy": "test", "far": "val"})


def nlg_table(seed, corpora=("toy",), images=30, captions=1, captioner="child"):
    generator = np.random.default_rng(seed)
    rows = {name: [] for name in NLG.columns}
    for corpus in corpora:
        for image in generator.permutation(images):
            for index in range(captions):
                length = int(generator.integers(1, 12))
                guesses = [max(0, length - order) for order in range(4)]
                statistics = np.zeros(METEOR_STATISTICS)
                matches = float(generator.integers(0, length + 1))
                statistics[:4] = length, 9, length // 3, 3
                statistics[4:6] = matches
                statistics[20:] = generator.integers(0, matches + 1), matches, matches
                row = {
                    "captioner": captioner,
                    "corpus": corpus,
                    "image_id": f"image{image}",
                    "caption_index": index,
                    **{f"bleu_{order}": 0.0 for order in range(1, 5)},
                    "bleu_counts": [length, 9, *guesses, *generator.integers(0, np.array(guesses) + 1)],
                    "meteor": 0.0,
                    "meteor_statistics": statistics,
                    "rouge_l": generator.random(),
                    "cider": 2 * generator.random(),
                }
                for name, value in row.items():
                    rows[name].append(value)
    return conform(rows, NLG, "test")


def alignment_table(scores, images=30):
    rows = [("toy", f"image{image}", 0, name, score) for name, score in scores.items() for image in range(images)]
    return conform(dict(zip(ALIGNMENT.columns, zip(*rows, strict=True), strict=True)), ALIGNMENT, "test")


def retrieval_table(ranks, corpus="toy", retriever="clip", protocol="file-order", candidates=100, captions=1):
    n = len(ranks)
    rows = {
        "corpus": [corpus] * n,
        "image_id": [f"image{row // captions}" for row in range(n)],
        "caption_index": [row % captions for row in range(n)],
        "retriever": [retriever] * n,
        "protocol": [protocol] * n,
        "candidates": np.broadcast_to(candidates, n),
        "rank": ranks,
        "chosen": [f"image{row // captions}" if rank == 1 else "other" for row, rank in enumerate(ranks)],
    }
    return conform(rows, RETRIEVAL, "test")


def by_metric(columns):
    return {metric: {name: columns[name][row] for name in columns} for row, metric in enumerate(columns["metric"])}


def bleu_by_hand(counts, order):
    """Papineni et al. 2002, equation 3, of summed counts."""
    length, reference, *rest = counts
    precisions = [rest[4 + k] / rest[k] for k in range(order)]
    if not all(precisions):
        return 0.0
    penalty = 1.0 if length >= reference else math.exp(1 - reference / length)
    return penalty * math.exp(sum(math.log(p) for p in precisions) / order)


def test_values_and_intervals_equal_loops_over_the_same_samples():
    table = nlg_table(0)
    results = list(caption_results(CHILD, table, 7, METRICS))
    summary = by_metric(summary_columns(results, {}))
    assert list(summary) == ["BLEU@1", "BLEU@2", "BLEU@3", "BLEU@4", "METEOR", "ROUGE-L", "CIDEr"]
    rows = sorted(table.to_pylist(), key=lambda row: row["image_id"])
    samples = np.random.default_rng([7, 30]).integers(0, 30, (RESAMPLES, 30))

    def check(metric, value_of):
        values = [100 * value_of([rows[image] for image in sample]) for sample in samples]
        found = summary[metric]
        assert found["value"] == pytest.approx(100 * value_of(rows), rel=1e-6)
        assert found["ci_low"] == pytest.approx(np.quantile(values, 0.025), rel=1e-6)
        assert found["ci_high"] == pytest.approx(np.quantile(values, 0.975), rel=1e-6)
        assert found["n"] == 30

    check("ROUGE-L", lambda drawn: sum(row["rouge_l"] for row in drawn) / 30)
    check("CIDEr", lambda drawn: sum(row["cider"] for row in drawn) / 30)
    for order in range(1, 5):
        check(
            f"BLEU@{order}",
            lambda drawn, order=order: bleu_by_hand(np.sum([row["bleu_counts"] for row in drawn], axis=0), order),
        )
    assert summary["METEOR"]["ci_low"] < summary["METEOR"]["value"] < summary["METEOR"]["ci_high"]


def test_rows_say_where_they_come_from():
    results = [
        *caption_results(CHILD, nlg_table(0, ("toy", "far")), 0, METRICS),
        *retrieval_results(CHILD, retrieval_table([1, 2]), 0),
    ]
    table = conform(summary_columns(results, {}), SUMMARY, "test").to_pylist()
    assert len(table) == 7 + 7 + 4
    assert {row["captioner"] for row in table} == {"child"}
    assert {(row["corpus"], row["split"]) for row in table} == {("toy", "test"), ("far", "val")}
    assert {(row["retriever"], row["candidates"]) for row in table} == {(None, None), ("clip", "100 file-order")}
    assert {row["decoding"] for row in table} == {"beam5"}


def test_retrieval_metrics():
    ranks = [1, 1, 5, 6, 10, 11, 1, 100]
    summary = by_metric(summary_columns(retrieval_results(CHILD, retrieval_table(ranks), seed=0), {}))
    expected = {"P@1": 100 * 3 / 8, "R@5": 100 * 4 / 8, "R@10": 100 * 6 / 8, "mean rank": sum(ranks) / 8}
    assert {metric: row["value"] for metric, row in summary.items()} == pytest.approx(expected)
    assert all(row["ci_low"] < row["value"] < row["ci_high"] for row in summary.values())


@pytest.mark.parametrize(
    ("protocol", "candidates", "shown"),
    [
        ("file-order", 100, "100 file-order"),
        ("random", 50, "50 random"),
        ("full", 2, "full"),
        ("set", 10, "10 set"),
        ("set", [10, 9], "set"),
    ],
)
def test_candidates_are_named(protocol, candidates, shown):
    table = retrieval_table([1, 2], protocol=protocol, candidates=candidates)
    assert {result.candidates for result in retrieval_results(CHILD, table, 0)} == {shown}


def test_captions_of_one_image_are_drawn_together():
    ranks = [1, 1, 2, 2, 1, 2]  # two captions for each of three images
    (at_1, *_) = retrieval_results(CHILD, retrieval_table(ranks, captions=2), seed=0)
    assert at_1.value == 50
    assert len(at_1.images) == 3
    samples = np.random.default_rng([0, 3]).integers(0, 3, (RESAMPLES, 3))
    np.testing.assert_allclose(at_1.resampled, [100 * np.mean([(1, 0, 0.5)[i] for i in sample]) for sample in samples])


def test_matching_scores_are_per_cent_by_scorer(tmp_path):
    write_table(tmp_path / "alignment.parquet", ALIGNMENT, alignment_table({"uniter": 0.5, "clip": 30.0}))
    bounds = {"uniter": (0.0, 100.0), "clip": (-100.0, 100.0)}
    job = replace(CHILD, factors={"uniter": 100.0, "clip": 1.0}, bounds=bounds)
    found = list(alignment.results(job, tmp_path / "alignment.parquet", 0))
    assert [(result.retriever, result.metric, result.value) for result in found] == [
        ("uniter", "score", 50.0), ("clip", "score", 30.0),
    ]  # fmt: skip
    assert [result.bounds for result in found] == [*bounds.values()]
    assert found[0].candidates is None


def test_a_metric_of_another_table_is_one_line():
    table = pa.table(
        {"corpus": ["toy"] * 4, "image_id": list("abcd"), "caption_index": [0] * 4, "all": [0.1, 0.2, 0.3, 0.6]}
    )
    (spice,) = caption_results(CHILD, table, 0, {"SPICE": Metric("all", mean, PER_CENT)})
    assert (spice.metric, spice.value) == ("SPICE", pytest.approx(30))


PARENTS = {"child": "parent"}


def test_differences_are_paired():
    child, parent = nlg_table(1), nlg_table(2)
    results = [*caption_results(CHILD, child, 5, METRICS), *caption_results(PARENT, parent, 5, METRICS)]
    compared = by_metric(comparison_columns(results, {"child": "parent", "parent": None}, {}, {}))
    assert {row["captioner"] for row in compared.values()} == {"child"}
    assert {row["against"] for row in compared.values()} == {"parent"}
    values = {}
    for name, table in (("child", child), ("parent", parent)):
        ordered = sorted(table.to_pylist(), key=lambda row: row["image_id"])
        values[name] = np.array([row["cider"] for row in ordered])
    difference = 100 * (values["child"] - values["parent"])
    samples = np.random.default_rng([5, 30]).integers(0, 30, (RESAMPLES, 30))
    resampled = difference[samples].mean(axis=1)
    cider = compared["CIDEr"]
    assert cider["difference"] == pytest.approx(difference.mean())
    assert cider["ci_low"] == pytest.approx(np.quantile(resampled, 0.025), abs=1e-3)  # resampled ones are rounded
    tail = min((resampled <= 0).sum(), (resampled >= 0).sum())
    assert cider["p_value"] == pytest.approx(min(1, 2 * (tail + 1) / (RESAMPLES + 1)))
    assert cider["test"] == "paired bootstrap"
    conform(comparison_columns(results, PARENTS, {}, {}), COMPARISONS, "test")


def test_the_first_place_is_compared_by_mcnemar_where_an_image_has_one_caption():
    child = [1] * 30 + [2] * 10 + [1] * 20
    parent = [1] * 20 + [2] * 25 + [1] * 15
    results = [
        *retrieval_results(CHILD, retrieval_table(child), 0),
        *retrieval_results(PARENT, retrieval_table(parent), 0),
    ]
    compared = by_metric(comparison_columns(results, PARENTS, {}, {}))
    only_child = sum(c == 1 and p != 1 for c, p in zip(child, parent, strict=True))
    only_parent = sum(c != 1 and p == 1 for c, p in zip(child, parent, strict=True))
    assert compared["P@1"]["test"] == "exact McNemar"
    assert compared["P@1"]["p_value"] == pytest.approx(binomtest(only_child, only_child + only_parent).pvalue)
    assert compared["R@5"]["test"] == "paired bootstrap"
    several = [
        *retrieval_results(CHILD, retrieval_table(child, captions=2), 0),
        *retrieval_results(PARENT, retrieval_table(parent, captions=2), 0),
    ]
    assert by_metric(comparison_columns(several, PARENTS, {}, {}))["P@1"]["test"] == "paired bootstrap"


def test_shares_have_exact_intervals_and_the_width_of_none_is_0():
    """30 images of which each is found, by one caption; where both captioners agree on all, Bonett and Price's."""
    results = [r for job in (CHILD, PARENT) for r in retrieval_results(job, retrieval_table([1] * 30), 0)]
    summary, compared = (
        by_metric(summary_columns(results[:4], {})),
        by_metric(comparison_columns(results, PARENTS, {}, {})),
    )
    exact = binomtest(30, 30).proportion_ci(method="exact")
    for metric in ("P@1", "R@5", "R@10"):
        assert (summary[metric]["ci_low"], summary[metric]["ci_high"]) == pytest.approx((100 * exact.low, 100.0))
        half = 100 * 1.959964 * (2 / 32 / 32) ** 0.5
        assert (compared[metric]["ci_low"], compared[metric]["ci_high"]) == pytest.approx((-half, half))
        assert compared[metric]["p_value"] == 1.0
    # A mean rank is no share.
    assert (summary["mean rank"]["ci_low"], summary["mean rank"]["ci_high"]) == (1.0, 1.0)


def test_only_like_is_compared_with_like():
    other = Job("parent", "another", "greedy", {"toy": "test"})
    ranks = retrieval_table([1, 2, 3])
    assert comparison_columns(retrieval_results(CHILD, ranks, 0), PARENTS, {}, {})["metric"] == []
    results = [*retrieval_results(CHILD, ranks, 0), *retrieval_results(other, ranks, 0)]
    assert comparison_columns(results, PARENTS, {}, {})["metric"] == []


def test_a_captioner_that_was_stopped_is_also_held_against_the_end():
    ranks = retrieval_table([1, 2, 3])
    jobs = [CHILD, PARENT, replace(CHILD, captioner="longer")]
    results = [result for job in jobs for result in retrieval_results(job, ranks, 0)]
    found = comparison_columns(results, {"child": "parent", "longer": "parent"}, {"child": "longer"}, {})
    pairs = set(zip(found["captioner"], found["against"], strict=True))
    assert pairs == {("child", "parent"), ("longer", "parent"), ("child", "longer")}


def test_means_over_seeds():
    """Of three trainings, each against its own parent: Student's t over seeds beside the resamples of images."""
    tables = {name: nlg_table(seed) for seed, name in enumerate(("child", "child-2", "child-3", "parent", "parent-2"))}
    parents = {"child": "parent", "child-2": "parent-2", "child-3": "parent-2", "parent": None}
    names = {"child": ["child", "child-2", "child-3"], "parent": ["parent", "parent-2"]}
    jobs = {name: replace(CHILD, captioner=name, device=device) for name, device in zip(tables, "aabbb", strict=True)}
    results = [r for name, job in jobs.items() for r in caption_results(job, tables[name], 5, METRICS)]
    summary = conform(summary_columns(results, names), SUMMARY, "test").to_pylist()
    compared = conform(comparison_columns(results, parents, {}, names), COMPARISONS, "test").to_pylist()

    samples = np.random.default_rng([5, 30]).integers(0, 30, (RESAMPLES, 30))
    cider = {}
    for name, table in tables.items():
        ordered = sorted(table.to_pylist(), key=lambda row: row["image_id"])
        cider[name] = 100 * np.array([row["cider"] for row in ordered])

    def check(found, of_images, key):
        """of_images (3, images): what is averaged, of each training."""
        seeds = of_images.mean(axis=1)
        over_seeds = t.ppf(0.975, 2) * seeds.std(ddof=1) / 3**0.5
        drawn = of_images.mean(axis=0)[samples].mean(axis=1)
        low, high = (np.quantile(drawn, end) for end in (0.025, 0.975))
        assert found[key] == pytest.approx(seeds.mean())
        assert found["ci_low"] == pytest.approx(seeds.mean() - np.hypot(seeds.mean() - low, over_seeds), abs=1e-2)
        assert found["ci_high"] == pytest.approx(seeds.mean() + np.hypot(high - seeds.mean(), over_seeds), abs=1e-2)

    (mean_row,) = [r for r in summary if r["metric"] == "CIDEr" and r["captioner"] == "child" and r["seeds"] == 3]
    check(mean_row, np.array([cider[name] for name in names["child"]]), "value")
    assert mean_row["device"] == "a, b"
    (apart,) = [r for r in compared if r["metric"] == "CIDEr" and r["seeds"] == 3]
    assert (apart["captioner"], apart["against"], apart["p_value"], apart["test"]) == ("child", "parent", None, None)
    check(apart, np.array([cider[name] - cider[parents[name]] for name in names["child"]]), "difference")
    alone = summary_columns(results, {})
    assert [r for r in summary if r["seeds"] == 1] == conform(alone, SUMMARY, "test").to_pylist()
    papers = Reproduction({"captioners": {"C": "child", "P": "parent"}, "corpora": {}}).run(summary, compared)
    assert papers.value(Coordinates("child", "toy", "CIDEr")).seeds == 3
    assert papers.value(Coordinates("child-2", "toy", "CIDEr")).seeds == 1


def test_trainings_on_different_images_have_no_mean():
    jobs = [replace(CHILD, captioner=name) for name in ("child", "child-2")]
    results = [
        r
        for job, n in zip(jobs, (30, 31), strict=True)
        for r in caption_results(job, nlg_table(1, images=n), 0, METRICS)
    ]
    with pytest.raises(ValueError, match=r"child and child-2 are to be compared .* only one of them has 'image30'"):
        summary_columns(results, {"child": ["child", "child-2"]})


def test_captioners_with_different_images_are_an_error():
    results = [
        *caption_results(CHILD, nlg_table(1), 0, METRICS),
        *caption_results(PARENT, nlg_table(1, images=31), 0, METRICS),
    ]
    with pytest.raises(
        ValueError, match=r"child and parent are to be compared .* different images of toy .* 'image30'"
    ):
        comparison_columns(results, PARENTS, {}, {})


def test_the_script_writes_both_tables(tmp_path):
    paths = {"nlg": [str(tmp_path / "evaluation" / "nlg" / "main.parquet")]}
    paths |= {"retrieval": [], "alignment": [], "captions": []}
    captioners = ("parent", "child")
    scores = [nlg_table(seed, ("toy", "far"), captioner=name) for seed, name in enumerate(captioners)]
    write_table(paths["nlg"][0], NLG, pa.concat_tables(scores))
    # Those of the parent were given and say no device and no decoding.
    notes = {"parent": {}, "child": {"device": "H100", "decoding": {"kind": "beam"}}}
    for seed, captioner in enumerate(captioners):
        folder = tmp_path / "evaluation" / captioner / "main"
        write_table(
            folder / "alignment.parquet", ALIGNMENT, alignment_table({"uniter": 0.25 * (seed + 1), "clip": 30.0})
        )
        write_table(folder / "retrieval.parquet", RETRIEVAL, retrieval_table([1, 2, 3 + seed]), {"device": "CPU"})
        for kind in ("retrieval", "alignment"):
            paths[kind].append(str(folder / f"{kind}.parquet"))
        paths["captions"].append(str(tmp_path / "captions" / captioner / "main.parquet"))
        write_table(paths["captions"][-1], GENERATED, {name: [] for name in GENERATED.columns}, notes[captioner])
    outputs = {name: tmp_path / f"{name}.parquet" for name in ("summary", "comparisons")}
    run_script(
        "summarise_evaluation",
        paths,
        outputs,
        evaluations={"main": {"decoding": "beam5", "splits": {"toy": "test", "far": "val"}}},
        tables=[name for name in paths if name != "captions"],
        unreferenced=[],
        lineage={"parent": {"parent": None}, "child": {"parent": "parent"}},
        factors={"uniter": 100.0, "clip": 1.0},
        bounds={"uniter": (0.0, 100.0), "clip": (-100.0, 100.0)},
        ends={},
        pairs={},
        trainings={},
        seed=0,
    )
    summary = read_table(outputs["summary"], SUMMARY).to_pylist()
    assert len(summary) == 2 * (2 * 7 + 4 + 2)
    found = {(row["captioner"], row["metric"]): row["device"] for row in summary}
    assert found["child", "P@1"] == "CPU, H100"
    assert found["child", "CIDEr"] == found["child", "score"] == "H100"
    assert found["parent", "P@1"] == "CPU"
    assert found["parent", "CIDEr"] == ""
    assert {(row["captioner"], row["decoding"]) for row in summary} == {("parent", "given"), ("child", "beam5")}
    assert read_metadata(outputs["summary"]) == {"device": "CPU, H100"}
    compared = read_table(outputs["comparisons"], COMPARISONS).to_pylist()
    assert len(compared) == 2 * 7 + 4 + 2
    scores = {row["retriever"]: row["difference"] for row in compared if row["metric"] == "score"}
    assert scores == {"uniter": pytest.approx(25.0), "clip": 0.0}
    assert {(row["captioner"], row["against"]) for row in compared} == {("child", "parent")}
    (rank,) = [row for row in compared if row["metric"] == "mean rank"]
    assert rank["difference"] == pytest.approx(1 / 3)


def test_below_the_table_it_says_why_spice_is_missing(tmp_path):
    folder = tmp_path / "evaluation" / "parent" / "main"
    write_table(folder / "retrieval.parquet", RETRIEVAL, retrieval_table([1, 2]))
    reason = "models.jar cannot be downloaded: no network"
    write_table(folder / "spice.parquet", SPICE, SPICE.schema.empty_table(), {"unavailable": reason})
    captions = tmp_path / "captions" / "parent" / "main.parquet"
    write_table(captions, GENERATED, {name: [] for name in GENERATED.columns})
    tables = {kind: [str(folder / f"{kind}.parquet")] for kind in ("retrieval", "spice")}
    summary = tmp_path / "summary.parquet"
    run_script(
        "summarise_evaluation",
        {**tables, "nlg": [], "alignment": [], "captions": [captions]},
        {"summary": summary, "comparisons": tmp_path / "comparisons.parquet"},
        evaluations={"main": {"decoding": "beam5", "splits": {"toy": "test"}}},
        tables=["nlg", *tables],
        unreferenced=["photos"],
        lineage={"parent": {"parent": None}},
        factors={},
        bounds={},
        ends={},
        pairs={},
        trainings={},
        seed=0,
    )
    pages = [str(tmp_path / f"evaluation.{ending}") for ending in ("md", "html")]
    provenance = {"config": "made-up", "seed": 0}
    tables = {"summary": summary, "comparisons": tmp_path / "comparisons.parquet"}
    run_script("collect_evaluation", tables, {"tables": pages}, humans=[], provenance=provenance)
    for page in pages:
        assert f"without SPICE: {reason}" in Path(page).read_text()
        assert "without references: nobody described the images of photos," in Path(page).read_text()
