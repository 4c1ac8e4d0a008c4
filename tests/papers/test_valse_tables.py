"""The tables and claims of the paper about foils on made-up measures."""

import csv

import pytest
from support.answers import Answers
from support.interval_ranges import intervals_outside
from support.paper_jobs import PAPERS, PROVENANCE, run_paper, table_files

from captionlab.judgements.foils import NO_PROBABILITY
from captionlab.judgements.schemas import FOIL_DIFFERENCES, FOIL_MEASURES
from captionlab.papers.valse.config import run_mistakes
from captionlab.papers.valse.evidence import evidence
from captionlab.reporting.claims.claims import claims_table, read_claims
from captionlab.storage.tables import write_table

TABLE, WINOGROUND = "valse_table2_pieces", "valse_winoground"
BLOCK = {
    "comparable": True,
    "judgements": {"VALSE": ["a", "b"], "Winoground": "w"},
    "scorers": {"CLIP": "my-clip", "LXMERT": "my-lxmert"},
}
# acc_r by model on existence, relations and noun phrases: as the paper has them for CLIP.
ACC_R = {
    ("score", "my-clip"): (0.669, 0.643, 0.888),
    ("score", "my-lxmert"): (0.7, 0.55, 0.9),
    ("score", "other"): (0.5, 0.5, 0.6),
    ("log-probability", None): (0.48, 0.52, 0.65),
}
PIECES = ("existence", "relations", "noun phrases")
COUNTS = {"images": 500, "n": 520}


def number(value, near=0.01):
    return {"value": value, "ci_low": max(0, value - near), "ci_high": min(1, value + near)}


def measures():
    rows = []
    for (metric, scorer), values in ACC_R.items():
        who = {"metric": metric, "scorer": scorer}
        for piece, value in (*zip(PIECES, values, strict=True), (None, sum(values) / 3)):
            rows.append({**who, "category": piece, "measure": "acc_r", **number(value), **COUNTS, "note": None})
            if scorer == "my-lxmert":
                rows.append({**who, "category": piece, "measure": "acc", **number(0.6), **COUNTS, "note": None})
            else:
                nothing = {"value": None, "ci_low": None, "ci_high": None, "images": 0, "n": 0}
                rows.append({**who, "category": piece, "measure": "acc", **nothing, "note": NO_PROBABILITY})
    return rows


def winoground():
    who = {"metric": "score", "scorer": "my-clip"}
    scores = {"text score": 0.3, "image score": 0.1, "group score": 0.08}
    return [
        {**who, "category": tag, "measure": measure, **number(value), **COUNTS, "note": None}
        for tag in (None, "Object", "Relation")
        for measure, value in scores.items()
    ]


def differences(near=0.005):
    rows, metrics = [], [*ACC_R.items()]
    for first, (one, values) in enumerate(metrics):
        for other, less in metrics[first + 1 :]:
            against = {"against": other[0], "against_scorer": other[1]}
            for piece, ours, theirs in zip(
                (*PIECES, None), (*values, sum(values) / 3), (*less, sum(less) / 3), strict=True
            ):
                place = {"category": piece, "against_category": piece, "measure": "acc_r"}
                rows.append({"metric": one[0], "scorer": one[1], **place, **against, **apart(ours - theirs, near)})
        for low, high in ((0, 1), (0, 2), (1, 2)):
            place = {"category": PIECES[low], "against_category": PIECES[high], "measure": "acc_r"}
            itself = {"metric": one[0], "scorer": one[1], "against": one[0], "against_scorer": one[1]}
            rows.append({**itself, **place, **apart(values[low] - values[high], near)})
    return rows


def apart(value, near):
    return {"difference": value, "ci_low": value - near, "ci_high": value + near, **COUNTS}


@pytest.fixture
def made(tmp_path):
    """The inputs of a job of the paper, of the labels VALSE and Winoground."""
    paths = {"measures": [], "differences": []}
    for label, rows in (("valse", measures()), ("winoground", winoground())):
        paths["measures"].append(tmp_path / f"{label}_measures.parquet")
        write_table(paths["measures"][-1], FOIL_MEASURES, rows)
        paths["differences"].append(tmp_path / f"{label}_differences.parquet")
        write_table(paths["differences"][-1], FOIL_DIFFERENCES, differences() if label == "valse" else [])
    return paths


def tables(made, folder, made_up=()):
    files = table_files(folder, [TABLE, WINOGROUND])
    params = {"config": BLOCK, "labels": [*BLOCK["judgements"]], "made_up": [*made_up]}
    run_paper("tabulate", "valse", {"measures": made["measures"]}, {"tables": [*files.values()]}, **params)
    return files


def records(path):
    with open(path, newline="") as file:
        rows = list(csv.DictReader(file))
    return {(row["subject"], row["measure"], row["source"]): row for row in rows}


def test_numbers_stand_beside_the_published_ones(made, tmp_path):
    files = tables(made, tmp_path)
    found = records(files[TABLE, "csv"])
    clip = found["CLIP", "acc_r", "existence"]
    assert (float(clip["value"]), clip["published"], clip["verdict"]) == (pytest.approx(66.9), "66.9", "agrees")
    assert (float(clip["ci_low"]), float(clip["ci_high"])) == (pytest.approx(65.9), pytest.approx(67.9))
    assert found["LXMERT", "acc_r", "existence"]["verdict"] == "differs"
    assert found["12-in-1", "acc_r", ""]["published"] == "75.1"
    assert found["12-in-1", "acc_r", ""]["value"] == ""
    assert found["GPT1", "acc_r", ""]["published"] == "60.7"
    assert found["LXMERT", "acc", ""]["published"] == "53.5"
    assert found["other", "acc_r", "relations"]["published"] == ""
    assert float(found["language model", "acc_r", "noun phrases"]["value"]) == pytest.approx(65)
    outside, intervals = intervals_outside(tmp_path)
    assert outside == []
    assert intervals > 20


def test_blocks_are_measures_and_notes_say_what_is_missing(made, tmp_path):
    text = tables(made, tmp_path)[TABLE, "md"].read_text()
    lines = [line.split("|")[1].strip() for line in text.splitlines() if line.startswith("| ")]
    first = lines.index("**acc\\_r: how often the caption scores higher than its foil**")
    assert lines[first + 1 : first + 11] == [
        "GPT1", "GPT2", "CLIP", "LXMERT", "ViLBERT", "12-in-1", "VisualBERT", "language model", "other",
        "**acc: how often a single text is judged rightly: the mean of p\\_c and p\\_f**",
    ]  # fmt: skip
    assert "GPT2 is not in this run." in text
    assert NO_PROBABILITY in text
    assert "Pairs: existence 520, relations 520, noun phrases 520." in text
    assert "Foils of the toy world" not in text


def test_foils_of_the_toy_world_say_so_and_are_held_against_nothing(made, tmp_path):
    files = tables(made, tmp_path, made_up=["VALSE"])
    text = files[TABLE, "md"].read_text()
    assert text.startswith("# Foils of the toy world in place of VALSE")
    assert "no annotator validated them" in text
    verdicts = {row["verdict"] for row in records(files[TABLE, "csv"]).values() if row["published"]}
    assert verdicts <= {"not comparable", "not in this run"}
    assert "Foils of the toy world" not in files[WINOGROUND, "md"].read_text()


def test_winoground_has_a_block_for_all_pairs_and_for_each_tag(made, tmp_path):
    files = tables(made, tmp_path)
    found = records(files[WINOGROUND, "csv"])
    assert {place: float(row["value"]) for place, row in found.items()} == {
        ("CLIP", measure, tag): pytest.approx(value)
        for measure, value in (("text score", 30), ("image score", 10), ("group score", 8))
        for tag in ("", "Object", "Relation")
    }
    text = files[WINOGROUND, "md"].read_text()
    assert "**Winoground (here w, 500 images)**" in text
    assert "**swapped: Relation**" in text


def judged(made):
    params = {"config": BLOCK, "labels": [*BLOCK["judgements"]], "made_up": []}
    inputs = {"differences": made["differences"], "published": PAPERS / "valse" / "published.csv"}
    known = evidence(inputs, params)
    claims = read_claims(PAPERS / "valse" / "claims.yaml", "valse")
    table = claims_table(claims, {"valse": known}, PROVENANCE, {"valse": {}})
    return {(row["claim"], row["scope"]): row for row in table.records}, known


def test_claims_are_judged_by_models_and_by_pieces(made):
    found, known = judged(made)
    assert found["objects-before-relations", "CLIP"]["verdict"] == "holds"
    assert found["noun-phrases-found-best", "LXMERT"]["verdict"] == "holds"
    assert found["models-use-the-image", "CLIP"]["verdict"] == "holds"
    assert {
        row["verdict"] for (claim, _), row in found.items() if claim == "lxmert-no-better-than-language-models"
    } == {"does not hold"}
    (untested,) = (row for (claim, _), row in found.items() if claim == "multitask-training-tells-most")
    assert untested["verdict"] == "not tested in this run"
    printed = {
        (row["experiment"], row["subject"], row["against"], row["source"]): known.printed(row)
        for row in known.differences
    }
    assert printed["pieces", "noun phrases", "existence", "CLIP"] == pytest.approx(88.8 - 66.9)
    assert printed["foils", "CLIP", "language model", None] == pytest.approx(64.0 - 60.7)
    assert printed["foils", "LXMERT", "CLIP", "relations"] == pytest.approx(60.2 - 64.3)
    assert printed["foils", "other", "CLIP", "relations"] is None


def test_blocks_that_do_not_fit(answers: Answers):
    config = {
        "judgements": {
            "foils": {"reader": "valse", "scorers": ["clip"]}, "rated": {"reader": "composite", "scorers": []},
        },
    }  # fmt: skip
    for given, block, sentence in (
        ("ratings in place of foils", {"judgements": {"VALSE": "rated"}, "scorers": {}}, "'rated', which has no foils"),
        (
            "one set of foils as two benchmarks",
            {"judgements": {"VALSE": "foils", "SugarCrepe": ["foils"]}, "scorers": {}}, "'foils' as VALSE and as",
        ),
        (
            "a scorer that scores no foils",
            {"judgements": {"VALSE": "foils"}, "scorers": {"LXMERT": "lxmert", "CLIP": "clip"}}, "scorers.LXMERT",
        ),
    ):  # fmt: skip
        (mistake,) = run_mistakes(config, "papers.valse", block)
        answers.hold(given, mistake, sentence)
