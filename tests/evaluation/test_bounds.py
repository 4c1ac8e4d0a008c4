"""Every metric declares the bounds of its values, and no interval leaves them."""

import math
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from support.interval_ranges import NAMED, intervals_outside

from captionlab.evaluation.metrics.amber import metric as amber
from captionlab.evaluation.metrics.chair import metric as chair
from captionlab.evaluation.metrics.clipscore import metric as clipscore
from captionlab.evaluation.metrics.diversity import metric as diversity
from captionlab.evaluation.metrics.nlg import metric as nlg
from captionlab.evaluation.metrics.questions import metric as questions
from captionlab.evaluation.metrics.retrieval import metric as retrieval
from captionlab.evaluation.metrics.sacrebleu import metric as sacrebleu
from captionlab.evaluation.metrics.spice import metric as spice
from captionlab.evaluation.summary import (
    Job,
    Metric,
    caption_results,
    comparison_columns,
    images_interval,
    mean,
    summary_columns,
)
from captionlab.papers.probing.summary import top_word_results
from captionlab.reporting.runs.roles import FLUENCY_METRICS, difference_rows, value_rows
from captionlab.statistics.intervals import FROM_0, PER_CENT, difference_bounds
from captionlab.storage.schemas import TAGGED

# Scores of alignment have the bounds of their scorer.
MODULES = (amber, chair, clipscore, diversity, nlg, questions, retrieval, sacrebleu, spice)
METRICS = {name: metric for module in MODULES for name, metric in module.METRICS.items()} | FLUENCY_METRICS
SHARES = {"P@1", "R@5", "R@10", "CHAIRi", "CHAIRs", "object recall", "question accuracy", "unanswered questions"}
SHARES |= {*amber.METRICS}
JOB = Job("child", "main", "greedy", {"toy": "test"})


def scored(name, values):
    """A table with a caption for each of these values."""
    images = [str(image) for image, _ in enumerate(values)]
    return pa.table({"corpus": ["toy"] * len(values), "image_id": images, name: values})


def test_metrics_declare_the_bounds_that_they_have():
    assert {name: metric.bounds for name, metric in METRICS.items()} == {
        name: pytest.approx(NAMED[name]) for name in METRICS
    }
    assert {name for name, metric in METRICS.items() if metric.share} == SHARES


def test_over_two_trainings_no_interval_leaves_the_bounds():
    """CIDEr of 4 and of 8: Student's t over both reaches from -1,941 to 3,141."""
    metric = {"CIDEr": METRICS["CIDEr"]}
    generator = np.random.default_rng(0)
    tables = {
        name: scored("cider", np.clip(generator.normal(mean_of, 1, 20), 0, 10))
        for name, mean_of in {"child": 4.0, "child-2": 8.0, "parent": 5.0, "parent-2": 1.0}.items()
    }
    found = [
        result
        for name, table in tables.items()
        for result in caption_results(replace(JOB, captioner=name), table, 3, metric)
    ]
    trainings = {"child": ["child", "child-2"], "parent": ["parent", "parent-2"]}
    summary = summary_columns(found, trainings)
    both = summary["seeds"].index(2)
    assert (summary["ci_low"][both], summary["ci_high"][both]) == (0.0, 1000.0)
    assert min(summary["ci_low"]) >= 0
    assert max(summary["ci_high"]) <= 1000
    compared = comparison_columns(found, {"child": "parent", "child-2": "parent-2"}, {}, trainings)
    both = compared["seeds"].index(2)
    assert (compared["ci_low"][both], compared["ci_high"][both]) == (-1000.0, 1000.0)

    roles = {name: {("toy", "CIDEr", None): result} for name, result in zip(tables, found, strict=True)}
    (value, _) = value_rows(trainings, roles)
    assert (value["ci_low"], value["ci_high"]) == (0.0, 1000.0)
    (difference,) = difference_rows(trainings, roles, "parent", {"child": "parent", "child-2": "parent-2"}, {})
    assert (difference["ci_low"], difference["ci_high"]) == difference_bounds((0.0, 1000.0))


def test_a_mean_of_counts_that_are_all_zero_has_no_other_values():
    """No resample has a verb among its ten most frequent words."""
    captions = [
        {"corpus": "toy", "image_id": str(image), "caption_index": 0, "words": ["a", "dog"], "lemmas": ["a", "dog"]}
        | {"tags": ["DET", "NOUN"]}
        for image in range(1000)
    ]
    table = pa.Table.from_pylist(captions, TAGGED.schema)
    nouns, verbs = top_word_results(JOB, table, 0)
    assert (nouns.value, *images_interval([nouns])) == (1.0, 1.0, 1.0)
    assert (verbs.value, *images_interval([verbs])) == (0.0, 0.0, 0.0)
    (lengths,) = caption_results(JOB, scored("length", [0] * 1000), 0, {"length": Metric("length", mean, FROM_0)})
    assert images_interval([lengths]) == (0.0, 0.0)


def test_a_share_of_mentions_that_is_zero_leaves_some_unseen():
    """None of 50 images has a hallucinated object; CHAIRi is a share of the mentions."""
    mentions = pa.FixedSizeListArray.from_arrays(pa.array([2, 0] * 50), 2)
    table = scored("mentions", mentions)
    (found,) = caption_results(JOB, table, 0, {"CHAIRi": METRICS["CHAIRi"]})
    assert found.bounds == PER_CENT
    assert images_interval([found]) == (0.0, pytest.approx(100 * (1 - 0.025 ** (1 / 50))))


def test_a_table_with_an_interval_that_cannot_be_is_found(tmp_path):
    columns = "metric,against,value,ci_low,ci_high\n"
    rows = ("CIDEr,,500,20,1708", "CIDEr,,20,5,30", "CIDEr,parent,20,-5,30", "P@1,,,,", "P@1,,20,21,30")
    (tmp_path / "evaluation.csv").write_text(columns + "\n".join(rows))
    found, intervals = intervals_outside(tmp_path)
    assert intervals == 4
    assert [one.partition("'ci_high': ")[2] for one in found] == ["'1708'}", "'30'}"]
    of_scorers = ("score,CLIP,30,-20,60", "score,UNITER,99,-1,100", "score,CLIP,95,90,101", "score,UNITER,95,90,101")
    with_scorers = columns.replace("against", "scorer") + "\n".join(of_scorers)
    (tmp_path / "evaluation.csv").write_text(with_scorers)
    found, _ = intervals_outside(tmp_path)
    assert [one.partition("'value': ")[2][:4] for one in found] == ["'99'", "'95'", "'95'"]
    (tmp_path / "evaluation.csv").write_text(f"{columns}unheard of,,1,0,2\n")
    with pytest.raises(KeyError, match="unhea"):
        intervals_outside(tmp_path)


@pytest.mark.parametrize(
    ("table", "columns", "inside", "outside"),
    [
        # Tau of a metric has a range of its own, whatever the metric's is.
        ("judgements", "metric,coefficient", "BLEU@4,tau-b,-0.2,-0.9,0.1", "BLEU@4,tau-b,0.9,0.5,1.2"),
        ("judgements", "metric,coefficient", "CIDEr,accuracy,0.2,0,0.5", "CIDEr,accuracy,0.1,-0.1,0.5"),
        ("clipscore_table4_pascal", "measure,against", "accuracy,,93,90,100", "accuracy,,93,90,101"),
        ("clipscore_table5_foil", "measure,against", "accuracy,CIDEr,-60,-99,-20", "accuracy,CIDEr,-60,-101,-20"),
        ("clipscore_table1_expert", "measure,against", "tau-c,CIDEr,-60,-101,-20", "tau-c,,-60,-101,-20"),
        ("evaluation", "metric,retriever", "score,half,10,0,50", "score,half,10,0,51"),
        ("evaluation", "metric,retriever", "words,,100,-1,1000", "nouns,,1,-1,2"),
    ],
)
def test_each_table_has_the_ranges_of_what_it_shows(tmp_path, table, columns, inside, outside):
    own = {"half": (0.0, 50.0), "words": (-math.inf, math.inf)}
    (tmp_path / f"{table}.csv").write_text("\n".join([f"{columns},value,ci_low,ci_high", inside, outside]))
    found, intervals = intervals_outside(tmp_path, own)
    assert intervals == 2
    assert [one.endswith(f"'ci_high': '{outside.rpartition(',')[2]}'}}") for one in found] == [True]
