"""Gains on two texts of the same images, transfer and fluency, against loops that do what the definitions say."""

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import t
from support.paper_jobs import run_paper

from captionlab.evaluation.metrics.nlg.metric import METEOR_STATISTICS, NLG
from captionlab.evaluation.schemas import ROLE_DIFFERENCES
from captionlab.evaluation.summary import Job
from captionlab.language.schemas import MEASURES
from captionlab.language.statistics import repeats_itself
from captionlab.papers.discritune.summary import (
    Cast,
    Scores,
    fluency_results,
    fluency_rows,
    gain_rows,
    in_domain_rows,
    same_images,
    text_results,
    transfer_rows,
)
from captionlab.statistics.intervals import RESAMPLES, resampled_sums
from captionlab.storage.schemas import GENERATED, TOKENS
from captionlab.storage.tables import conform, read_metadata, read_table, write_table

CORPORA = ("descriptions", "captions", "coco")
PARENTS = {"tuned": "plain"}
IMAGES = [f"{number:02d}" for number in range(25)]
RNG = np.random.default_rng(11)
CIDER = {(name, corpus): RNG.uniform(0, 2, 25) for name in ("plain", "tuned", "other") for corpus in CORPORA}
# Perplexity 10 of the parent on ten words with their end, 10.4 and 11 of others.
TEXTS = {
    "plain": ["a cat on a mat"] * 24 + ["a a cat"],
    "tuned": ["a red cat on a red mat"] * 23 + ["cat cat", "a cat on a cat on a cat"],
    "other": ["near a near a near a"] * 25,
}
LOG_PROBS = {"plain": -10.0, "tuned": -10.0 * np.log10(10.4), "other": -10.0 * np.log10(11.0)}


def cast(parents=PARENTS):
    """Captioners of one training each, which are called as their labels."""
    return Cast({name: [name] for name in ("plain", "tuned", "other", "unread")}, parents, parents)


def job(name):
    return Job(name, "main", "beam5", dict.fromkeys(CORPORA, "test"))


def nlg(name, left_out=()):
    """Columns of NLG; images `left_out` are (corpus, image)."""
    one = {"captioner": name, "caption_index": 0, "rouge_l": 0.5, "meteor": 0.1, "bleu_counts": [4] * 10}
    one |= {"meteor_statistics": [1.0] * METEOR_STATISTICS, **{f"bleu_{n}": 0.1 for n in range(1, 5)}}
    rows = [
        {**one, "corpus": corpus, "image_id": image, "cider": float(CIDER[name, corpus][number])}
        for corpus in CORPORA
        for number, image in enumerate(IMAGES)
        if (corpus, image) not in left_out
    ]
    return {column: [row[column] for row in rows] for column in NLG.columns}


def scores(name, left_out=()):
    return Scores(job(name), conform(nlg(name, left_out), NLG, "made up"), None)


def spoken(name):
    """Columns of MEASURES and of TOKENS on one corpus."""
    key = {"corpus": ["coco"] * 25, "image_id": IMAGES, "caption_index": [0] * 25}
    counts = {"repeated": 0, "unknown": 0, "impossible": 0, "nouns": 2, "distinct_nouns": 2, "words": 9}
    measures = {**key, **{column: [value] * 25 for column, value in counts.items()}}
    measures |= {"log_prob": [LOG_PROBS[name]] * 25, "perplexity": [None] * 25}
    return measures, {**key, "tokens": TEXTS[name]}


def gain(corpus, weights):
    """What the finetuned captioner has more than its parent in CIDEr, of images that count so many times."""
    return 100 * np.average(CIDER["tuned", corpus] - CIDER["plain", corpus], weights=weights)


def test_a_difference_of_gains_is_paired_by_image():
    results = {name: text_results([scores(name)], CORPORA[:2], 3) for name in ("plain", "tuned")}
    rows = {row["measure"]: row for row in gain_rows(results, cast(), CORPORA[:2], "Texts")}
    row = rows["CIDEr"]
    assert row["difference"] == pytest.approx(gain("descriptions", None) - gain("captions", None))
    drawn = [gain("descriptions", of) - gain("captions", of) for of in resampled_sums(np.eye(25), 3)]
    assert [row["ci_low"], row["ci_high"]] == pytest.approx(np.quantile(drawn, [0.025, 0.975]), abs=1e-3)
    assert (row["subject"], row["corpus"], row["against"], row["n"]) == (
        "tuned", "descriptions", "the gain on Texts", 25,
    )  # fmt: skip
    assert rows["METEOR"]["difference"] == pytest.approx(0.0)


def test_over_trainings_each_is_held_against_its_own_parent():
    """Two trainings of a captioner, one of which goes by the scores of `other`, from the same parent."""
    two = Cast({"P": ["plain"], "T": ["tuned", "other"]}, {"T": "P"}, {"tuned": "plain", "other": "plain"})
    results = {name: text_results([scores(name)], CORPORA, 3) for name in ("plain", "tuned", "other")}
    (row,) = (row for row in gain_rows(results, two, CORPORA[:2], "Texts") if row["measure"] == "CIDEr")
    gains = [
        100 * np.mean(CIDER[name, first] - CIDER["plain", first] - CIDER[name, second] + CIDER["plain", second])
        for first, second in (CORPORA[:2],)
        for name in ("tuned", "other")
    ]
    assert (row["subject"], row["seeds"]) == ("T", 2)
    assert row["difference"] == pytest.approx(np.mean(gains))
    one = next(row for row in gain_rows(results, cast(), CORPORA[:2], "Texts") if row["measure"] == "CIDEr")
    assert row["ci_high"] - row["ci_low"] > one["ci_high"] - one["ci_low"]  # two seeds say little
    found = [r for r in transfer_rows(results, two, {"P": CORPORA, "T": CORPORA}) if r["measure"] == "CIDEr"]
    apart = {corpus: 100 * np.mean(CIDER["tuned", corpus] + CIDER["other", corpus]) / 2 for corpus in CORPORA}
    for r in found:
        sign = 1 if r["subject"] == "T" else -1
        assert r["difference"] == pytest.approx(
            sign * (apart[r["corpus"]] - 100 * np.mean(CIDER["plain", r["corpus"]]))
        )
        assert r["seeds"] == (2 if sign > 0 else 1)
    # Whichever is held against the other, what seeds and images say is the same.
    ends = {(r["subject"], r["corpus"]): (r["ci_low"], r["ci_high"]) for r in found}
    draws = resampled_images()
    for corpus in CORPORA:
        seeds = np.array([100 * CIDER[name, corpus].mean() for name in ("tuned", "other")])
        over_seeds = t.ppf(0.975, 1) * seeds.std(ddof=1) / 2**0.5
        of_images = 50 * (CIDER["tuned", corpus] + CIDER["other", corpus]) - 100 * CIDER["plain", corpus]
        low, high = np.quantile(of_images[draws].mean(axis=1), (0.025, 0.975))
        middle = of_images.mean()
        expected = middle - np.hypot(middle - low, over_seeds), middle + np.hypot(high - middle, over_seeds)
        assert ends["T", corpus] == pytest.approx(expected, abs=0.05)
        assert ends["P", corpus] == pytest.approx((-expected[1], -expected[0]), abs=0.05)


def resampled_images():
    """The images of each resample (resamples, 25), as the seed 3 draws them."""
    return np.random.default_rng([3, 25]).integers(0, 25, (RESAMPLES, 25))


def test_images_with_one_of_the_texts_do_not_count():
    lost = [("descriptions", IMAGES[2]), ("captions", IMAGES[5]), ("captions", IMAGES[9])]
    results = {
        name: text_results([same_images(scores(name, lost), *CORPORA[:2])], CORPORA[:2], 3)
        for name in ("plain", "tuned")
    }
    (row,) = (row for row in gain_rows(results, cast(), CORPORA[:2], "Texts") if row["measure"] == "CIDEr")
    weights = [number not in (2, 5, 9) for number in range(25)]
    assert row["n"] == 22
    assert row["difference"] == pytest.approx(gain("descriptions", weights) - gain("captions", weights))


def test_gains_on_other_images_are_an_error():
    results = {"plain": text_results([scores("plain")], CORPORA[:2], 3)}
    results["tuned"] = text_results([scores("tuned", [("captions", IMAGES[5])])], CORPORA[:2], 3)
    with pytest.raises(
        ValueError, match=r"tuned and its parent plain .* different images of descriptions and captions"
    ):
        list(gain_rows(results, cast(), CORPORA[:2], "Texts"))


def test_captioners_without_results_and_their_children_have_no_gain():
    results = {name: text_results([scores(name)], CORPORA[:2], 3) for name in ("plain", "tuned")}
    parents = {**PARENTS, "blip-tuned": "blip", "orphan": "blip", "plain": "unseen", "unseen": "plain"}
    rows = list(gain_rows(results, cast(parents), CORPORA[:2], "Texts"))
    assert {row["subject"] for row in rows} == {"tuned"}


def test_two_evaluations_of_one_corpus_are_an_error():
    other = scores("tuned")
    twice = [scores("tuned"), Scores(Job("tuned", "again", "greedy", other.job.splits), other.nlg, None)]
    with pytest.raises(ValueError, match=r"of tuned on .* several evaluations \(again, main\); .*evaluations"):
        text_results(twice, CORPORA, 3)


def test_transfer_is_about_corpora_that_neither_was_trained_on():
    results = {name: text_results([scores(name)], CORPORA, 3) for name in ("plain", "tuned", "other")}
    foreign = {"plain": CORPORA[:2], "tuned": CORPORA[:2], "other": CORPORA[1:]}
    rows = {
        (row["subject"], row["against"], row["corpus"]): row
        for row in transfer_rows(results, cast(), foreign)
        if row["measure"] == "CIDEr"
    }
    assert {key[2] for key in rows if "other" in key} == {"captions"}
    assert {key[2] for key in rows if "other" not in key} == {"descriptions", "captions"}
    row = rows["tuned", "other", "captions"]
    apart = 100 * (CIDER["tuned", "captions"] - CIDER["other", "captions"])
    assert row["difference"] == pytest.approx(apart.mean())
    assert row["experiment"] == "transfer"
    assert row["ci_low"] < apart.mean() < row["ci_high"]


def test_what_finetuning_costs_on_the_corpora_of_the_training():
    """The difference from the parent, and by how much it stays above a loss of a twentieth of the parent's value."""
    results = {name: text_results([scores(name)], CORPORA, 3) for name in ("plain", "tuned", "other")}
    rows = {row["measure"]: row for row in in_domain_rows(results, cast(), {"tuned": ["coco"], "other": CORPORA})}
    assert {(row["subject"], row["against"], row["corpus"]) for row in rows.values()} == {("tuned", "plain", "coco")}
    assert {row["experiment"] for row in rows.values()} == {"in-domain"}
    found, above = rows["CIDEr"], rows["non-inferiority of CIDEr"]
    assert (found["difference"], found["margin"]) == (pytest.approx(gain("coco", None)), None)
    margin = 0.05 * 100 * CIDER["plain", "coco"].mean()
    assert above["margin"] == pytest.approx(margin)
    for end in ("difference", "ci_low", "ci_high"):
        assert above[end] == pytest.approx(margin + found[end])
    same = rows["non-inferiority of METEOR"]
    assert same["difference"] == pytest.approx(same["margin"])


def test_a_gain_on_the_corpora_of_the_training_is_no_loss():
    worst, _, best = sorted(("plain", "tuned", "other"), key=lambda name: CIDER[name, "coco"].mean())
    results = {name: text_results([scores(name)], CORPORA, 3) for name in (worst, best)}
    rows = in_domain_rows(results, cast({best: worst}), {best: ["coco"]})
    (above,) = (row for row in rows if row["measure"] == "non-inferiority of CIDEr")
    gained = 100 * (CIDER[best, "coco"].mean() - CIDER[worst, "coco"].mean())
    assert gained > above["margin"]
    assert above["difference"] == pytest.approx(above["margin"] + gained)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", False), ("cat", False), ("cat cat", True), ("a cat and a dog", False), ("a cat on a cat on a mat", True),
        ("a cat on a mat near a cat under a tree", False), ("bike road bike road bike", True),
    ],
)  # fmt: skip
def test_repetitions(text, expected):
    assert repeats_itself(text.split()) is expected


def test_fluency_is_kept_within_a_margin():
    results = {}
    for name in TEXTS:
        measures, tokens = (
            conform(one, kind, "made up") for one, kind in zip(spoken(name), (MEASURES, TOKENS), strict=True)
        )
        results[name] = fluency_results(job(name), measures, tokens, 3)
    found = {
        (row["subject"], row["measure"]): row
        for row in fluency_rows(results, cast({"tuned": "plain", "other": "plain"}))
    }
    assert {row["experiment"] for row in found.values()} == {"fluency"}
    assert found["tuned", "perplexity"]["difference"] == pytest.approx(0.4)
    assert found["other", "perplexity"]["difference"] == pytest.approx(1.0)
    # A twentieth of the parent's 10 is 0.5.
    assert found["tuned", "non-inferiority of perplexity"]["difference"] == pytest.approx(0.1)
    assert found["other", "non-inferiority of perplexity"]["difference"] == pytest.approx(-0.5)
    assert found["other", "non-inferiority of perplexity"]["margin"] == pytest.approx(0.5)
    # 2 and 25 captions of 25 repeat words, and 1 of the parent's: one of a hundred may come on top.
    assert found["tuned", "repetitions"]["difference"] == pytest.approx(4.0)
    row, apart = found["tuned", "non-inferiority of repetitions"], found["tuned", "repetitions"]
    assert (row["difference"], row["margin"]) == (pytest.approx(-3.0), 1.0)
    assert (row["ci_low"], row["ci_high"]) == (1.0 - apart["ci_high"], 1.0 - apart["ci_low"])
    assert row["ci_low"] < -3.0 < row["ci_high"]
    assert found["other", "non-inferiority of repetitions"]["ci_high"] < 0
    # Of a chain whose first captioner was not read, only what is known of both.
    chain = fluency_rows(results, cast({"plain": "unread", "tuned": "plain"}))
    assert {row["subject"] for row in chain} == {"tuned"}


@pytest.mark.parametrize("known", [0, 1])
def test_captions_without_a_known_word_have_no_perplexity(known):
    """With one known word among all captions, some resamples have none."""
    results = {}
    for name in ("plain", "tuned"):
        measures, tokens = (pa.table(one) for one in spoken(name))
        words = np.zeros(len(measures), dtype=np.int32)
        words[:known] = 1
        silent = {"words": words, "unknown": 0 * words, "impossible": 0 * words, "log_prob": -1.0 * words}
        for column, values in silent.items():
            measures = measures.set_column(measures.column_names.index(column), column, pa.array(values))
        results[name] = fluency_results(job(name), measures, tokens, 3)
    rows = fluency_rows(results, cast({"tuned": "plain"}))
    assert {row["measure"] for row in rows} == {"repetitions", "non-inferiority of repetitions"}


def test_the_script_writes_rows_by_the_labels_of_the_paper(tmp_path):
    labels = {"ClipCap-COCO": "plain", "DiscriTune-COCO": "tuned", "ClipCap-ConCap": "other", "Human captions": "human"}
    trained = {"plain": ["coco"], "tuned": ["coco", "coco"], "other": ["elsewhere"], "human": []}
    lineage = {name: {"parent": PARENTS.get(name), "corpora": corpora} for name, corpora in trained.items()}
    corpora = {"Concadia-Descriptions": "descriptions", "Concadia-Captions": "captions", "COCO": "coco"}
    files: dict[str, list[str]] = {"captions": [], "nlg": [], "spice": [], "measures": [], "tokens": [], "tags": []}

    def put(what, stage, kind, name, columns, notes=None):
        place = f"captions/{name}/main" if what == "captions" else f"{stage}/{name}/main/{what}"
        files[what].append(str(tmp_path / f"{place}.parquet"))
        write_table(files[what][-1], kind, columns, notes or {})

    for name in TEXTS:
        nothing = {column: [] for column in GENERATED.columns}
        put("captions", "captions", GENERATED, name, nothing, {"device": "H100"})
        if name != "other":
            measures, tokens = spoken(name)
            put("measures", "language", MEASURES, name, measures)
            put("tokens", "evaluation", TOKENS, name, tokens)
    files["nlg"].append(str(tmp_path / "evaluation" / "nlg" / "main.parquet"))
    write_table(files["nlg"][0], NLG, pa.concat_tables(conform(nlg(name), NLG, "made up") for name in TEXTS))
    output = {name: tmp_path / f"{name}.parquet" for name in ("values", "differences")}
    nothing = {f"variant_{name}": [] for name in ("captions", "nlg", "spice", "retrieval")}
    run_paper(
        "summarise", "discritune", {**files, **nothing}, output,
        evaluations={"main": {"decoding": "beam5", "splits": dict.fromkeys(CORPORA, "test")}}, variants={},
        config={"comparable": True, "captioners": labels, "corpora": corpora}, lineage=lineage, trainings={}, seed=3,
    )  # fmt: skip
    rows = read_table(output["differences"], ROLE_DIFFERENCES).to_pylist()
    assert read_metadata(output["differences"]) == {"device": "H100"}
    of = {name: [row for row in rows if row["experiment"] == name] for name in ("gains", "transfer", "fluency")}
    assert {(row["subject"], row["against"]) for row in of["gains"]} == {
        ("DiscriTune-COCO", "the gain on Concadia-Captions")
    }
    assert {(row["subject"], row["against"]) for row in of["fluency"]} == {("DiscriTune-COCO", "ClipCap-COCO")}
    assert {row["corpus"] for row in of["transfer"]} == {"descriptions", "captions"}
    assert len({(row["subject"], row["against"]) for row in of["transfer"]}) == 6
    (row,) = (row for row in of["gains"] if row["measure"] == "CIDEr")
    assert row["difference"] == pytest.approx(gain("descriptions", None) - gain("captions", None))
