"""The tables and claims of the paper about CLIPScore on made-up correlations."""

import copy
import csv

import pytest
from support.answers import Answers
from support.interval_ranges import intervals_outside
from support.paper_jobs import PAPERS, PROVENANCE, run_paper, table_files

from captionlab.judgements.schemas import CORRELATIONS, DIFFERENCES
from captionlab.papers.clipscore.config import run_mistakes
from captionlab.papers.clipscore.evidence import evidence
from captionlab.reporting.claims.claims import claims_table, read_claims
from captionlab.storage.tables import write_table

TABLE_1, TABLE_2 = "clipscore_table1_expert", "clipscore_table2_cf"
BLOCK = {"comparable": True, "judgements": {"Flickr8k-Expert": "expert", "Flickr8k-CF": "cf"}, "encoder": "b32"}
# Of each metric tau-c on one set, and half of that as tau-b.
TAUS = {
    ("BLEU@1", None): 0.323, ("BLEU@4", None): 0.31, ("CIDEr", None): 0.439, ("CLIPScore", "b32"): 0.512,
    ("RefCLIPScore", "b32"): 0.6, ("CLIPScore", "l14"): 0.53, ("CHAIRi", None): -0.1,
}  # fmt: skip
PLACE = "papers.clipscore"
COUNTS = {"images": 1000, "n": 16992}


def correlations(near=0.004):
    rows = []
    for (metric, scorer), tau in TAUS.items():
        for coefficient, value in (("tau-c", tau), ("tau-b", tau / 2), ("Pearson", 0.9)):
            ends = {"value": value, "ci_low": value - near, "ci_high": value + near}
            rows.append({"metric": metric, "scorer": scorer, "coefficient": coefficient, "category": None, **ends,
                         **COUNTS, "note": "7 of 5664 captions have no score and are left out" * (metric == "CHAIRi")
                         or None})  # fmt: skip
    nothing = {"metric": "SPICE", "scorer": None, "category": None, "note": "all scores are the same", **COUNTS}
    return [*rows, {**nothing, "coefficient": "tau-c", "value": None, "ci_low": None, "ci_high": None}]


def differences(near=0.01):
    found, rows = list(TAUS.items()), []
    for first, (one, tau) in enumerate(found):
        for other, less in found[first + 1 :]:
            apart = {"difference": tau - less, "ci_low": tau - less - near, "ci_high": tau - less + near}
            who = dict(zip(("metric", "scorer", "against", "against_scorer"), (*one, *other), strict=True))
            tested = {"p_value": 0.5, "p_holm": 1.0}
            rows += [{**who, "coefficient": coefficient, "category": None, **apart, **tested, **COUNTS}
                     for coefficient in ("tau-b", "tau-c")]  # fmt: skip
    return rows


@pytest.fixture
def made(tmp_path):
    """The inputs of a job of the paper."""
    paths = {"correlations": [], "differences": []}
    for name in ("expert", "cf"):
        for table, kind, rows in (
            ("correlations", CORRELATIONS, correlations()), ("differences", DIFFERENCES, differences()),
        ):  # fmt: skip
            paths[table].append(tmp_path / f"{name}_{table}.parquet")
            write_table(paths[table][-1], kind, rows)
    return paths


def tables(made, folder, block=BLOCK, simulated=()):
    files = table_files(folder, [TABLE_1, TABLE_2])
    params = {"config": block, "labels": [*block["judgements"]], "simulated": [*simulated]}
    run_paper("tabulate", "clipscore", made, {"tables": [*files.values()]}, **params)
    return files


def records(path):
    with open(path, newline="") as file:
        rows = list(csv.DictReader(file))
    return {(row["subject"], row["against"]): row for row in rows}


def test_numbers_stand_beside_the_published_ones(made, tmp_path):
    files = tables(made, tmp_path)
    expert, crowd = records(files[TABLE_1, "csv"]), records(files[TABLE_2, "csv"])
    assert {row["measure"] for row in expert.values()} == {"tau-c"}
    assert {row["measure"] for row in crowd.values()} == {"tau-b"}
    clip = expert["CLIP-S", ""]
    assert (float(clip["value"]), clip["published"], clip["verdict"]) == (pytest.approx(51.2), "51.2", "agrees")
    assert (float(clip["ci_low"]), float(clip["ci_high"])) == (pytest.approx(50.8), pytest.approx(51.6))
    assert expert["RefCLIP-S", ""]["verdict"] == "differs"
    assert (expert["CLIP-S by l14", ""]["published"], expert["CLIP-S by l14", ""]["scorer"]) == ("", "")
    assert crowd["CLIP-S", ""]["published"] == "34.4"
    assert crowd["BLEU-1", ""]["published"] == ""
    # CIDEr comes before CLIPScore among the differences, and after BLEU.
    assert float(expert["CLIP-S", "CIDEr"]["value"]) == pytest.approx(7.3)
    assert float(expert["CLIP-S", "CIDEr"]["ci_low"]) == pytest.approx(6.3)
    assert float(expert["BLEU-1", "CIDEr"]["value"]) == pytest.approx(-11.6)
    assert ("CIDEr", "CIDEr") not in expert
    found, intervals = intervals_outside(tmp_path)
    assert found == []
    assert intervals > 20


def test_rows_are_in_the_order_of_the_paper_and_say_what_is_missing(made, tmp_path):
    files = tables(made, tmp_path)
    text = files[TABLE_1, "md"].read_text()
    lines = [line.split("|")[1].strip() for line in text.splitlines() if line.startswith("| ")]
    assert lines[2:] == [
        "**Flickr8k-Expert (here expert, 1000 images)**", "BLEU-1", "BLEU-4", "ROUGE-L", "METEOR", "CIDEr", "SPICE",
        "CLIP-S", "RefCLIP-S", "BERT-S", "BERT-S++", "TIGEr", "NUBIA", "ViLBERTScore-F", "FLEUR", "RefFLEUR", "Polos",
        "CHAIRi", "CLIP-S by l14",
    ]  # fmt: skip
    fleur = records(files[TABLE_1, "csv"])["FLEUR", ""]
    assert (fleur["value"], fleur["published"], fleur["verdict"]) == ("", "53.0", "not in this run")
    assert "FLEUR, RefFLEUR: the number beside this run's is of FLEUR (Lee et al. 2024) Table 1." in text
    assert "NUBIA: the number beside this run's is of prior work as this paper prints it." in text
    assert "ROUGE-L is not in this run." in text
    assert "SPICE: all scores are the same." in text
    assert "CHAIRi: 7 of 5664 captions have no score and are left out." in text
    assert "Flickr8k-Expert: 16992 judgements, each an observation of its own." in text


def test_simulated_judgements_say_so_and_are_held_against_nothing(made, tmp_path):
    files = tables(made, tmp_path, simulated=["Flickr8k-Expert"])
    text = files[TABLE_1, "md"].read_text()
    assert text.startswith("# Simulated judgements in place of table 1 of CLIPScore")
    assert "No person took part" in text
    assert "FLEUR" not in text
    assert {row["verdict"] for row in records(files[TABLE_1, "csv"]).values() if row["published"]} <= {
        "not comparable", "not in this run",
    }  # fmt: skip
    assert "No person took part" not in files[TABLE_2, "md"].read_text()
    assert records(files[TABLE_2, "csv"])["CLIP-S", ""]["verdict"] == "differs"


def verdicts(made, block=BLOCK, labels=("Flickr8k-Expert", "Flickr8k-CF")):
    inputs = {"differences": made["differences"][: len(labels)], "published": PAPERS / "clipscore" / "published.csv"}
    claims = read_claims(PAPERS / "clipscore" / "claims.yaml", "clipscore")
    found = claims_table(
        claims, {"clipscore": evidence(inputs, {"config": block, "labels": [*labels]})}, PROVENANCE, {}
    )
    return {(row["claim"], row["scope"]): row for row in found.records}


def test_claims_are_judged_by_the_differences_of_people(made):
    found = verdicts(made)
    row = found["no-references-beat-references", "Flickr8k-Expert"]
    assert (row["verdict"], row["comparisons"], row["as_claimed"]) == ("holds", 3, 3)
    assert "the paper's +7.3" in row["smallest_difference"]
    assert found["references-help-clipscore", "Flickr8k-CF"]["verdict"] == "holds"
    assert (
        verdicts(made, {**BLOCK, "encoder": "l14"})["references-help-clipscore", "all comparisons"]["comparisons"] == 0
    )


def test_claims_on_foils_are_judged_by_accuracy_with_one_reference(tmp_path):
    who = {"metric": "CIDEr", "scorer": None, "against": "CLIPScore", "against_scorer": "b32"}
    apart = {"difference": -0.05, "ci_low": -0.06, "ci_high": -0.04, "p_value": 0.001, "p_holm": 0.001, **COUNTS}
    write_table(tmp_path / "foil.parquet", DIFFERENCES, [{**who, "coefficient": "accuracy", "category": None, **apart}])
    block = {**BLOCK, "judgements": {"FOIL-1": "foil"}}
    found = verdicts({"differences": [tmp_path / "foil.parquet"]}, block, ["FOIL-1"])
    row = found["foils-without-references", "FOIL-1"]
    assert (row["verdict"], row["comparisons"]) == ("holds", 1)
    assert "the paper's +4.7" in row["smallest_difference"]
    assert ("no-references-beat-references", "FOIL-1") not in found


def test_without_judgements_of_people_claims_are_not_tested(made):
    found = verdicts(made, labels=())
    assert {row["comparisons"] for row in found.values()} == {0}
    assert {row["evidence"] for row in found.values()} == {"tested with judgements of people (docs/data.md)"}


PAIRS = {"annotations": "consensus.mat", "pairs": "pairs.mat"}
RATINGS = {"reader": "flickr8k-cf", "corpus": "photos", "annotations": "crowd.txt", "captions": "captions.txt"}
CONFIG = {
    "seed": 1,
    "spice": "off",
    "corpora": {
        "world": {"reader": "toyworld", "domain": "coco", "seed": 1, "images": {"test": 16}},
        "photos": {"reader": "karpathy", "annotations": "photos.json", "images": "photos"},
        "pascal": {"reader": "pascal-50s", **PAIRS, "images": "jpegs"},
    },
    "encoders": {"b32": {"family": "clip", "weights": "clip.pt"}},
    "judgements": {
        "expert": {"reader": "simulated", "corpus": "world", "images": 8, "clipscore": ["b32"]},
        "cf": {**RATINGS, "clipscore": ["b32"]},
        "pascal-50s": {"reader": "pascal-50s", "corpus": "pascal", **PAIRS, "clipscore": ["b32"]},
    },
    "papers": {"clipscore": {**BLOCK, "judgements": {**BLOCK["judgements"], "Pascal-50S": "pascal-50s"}}},
}


def test_tables_are_those_that_there_are_judgements_for(planned):
    plan = planned(CONFIG)
    assert plan.tables("clipscore") == [TABLE_1, TABLE_2, "clipscore_table4_pascal"]
    job = plan.job("tabulate_clipscore")
    assert job.inputs["correlations"] == [
        f"results/judgements/{name}/correlations.parquet" for name in ("expert", "cf", "pascal-50s")
    ]
    assert job.params["labels"] == ["Flickr8k-Expert", "Flickr8k-CF", "Pascal-50S"]
    assert job.params["simulated"] == ["Flickr8k-Expert"]


def test_claims_are_judged_by_judgements_of_people_alone(planned):
    job = planned(CONFIG).job("check_claims")
    assert job.inputs["clipscore_differences"] == [
        f"results/judgements/{name}/differences.parquet" for name in ("cf", "pascal-50s")
    ]
    assert job.params["papers"]["clipscore"]["labels"] == ["Flickr8k-CF", "Pascal-50S"]


def pairs(metric, shares, n=40):
    """Rows of CORRELATIONS: the share of all pairs that a metric gets right, and those of categories."""
    place = {"metric": metric, "scorer": "b32" if metric == "CLIPScore" else None, "coefficient": "accuracy"}
    return [{**place, "category": category, "value": share, "ci_low": share - 0.1, "ci_high": min(share + 0.1, 1.0),
             "images": 20, "n": n if category is None else n // 4, "note": None}
            for category, share in shares.items()]  # fmt: skip


def test_pairs_have_a_column_for_each_category_and_foils_a_block_for_each_number_of_references(tmp_path):
    """Three of four pairs are right: of HC and HI all, of HM half, of MM half."""
    clip = {None: 0.75, "HC": 1.0, "HI": 1.0, "HM": 0.5, "MM": 0.5}
    cider = {None: 0.5, "HC": 0.5, "HI": 0.5, "HM": 0.5, "MM": 0.5}
    who = {"metric": "CIDEr", "scorer": None, "against": "CLIPScore", "against_scorer": "b32"}
    apart = {
        "difference": -0.25,
        "ci_low": -0.4,
        "ci_high": -0.1,
        "p_value": 0.01,
        "p_holm": 0.01,
        "images": 20,
        "n": 40,
    }
    rows = {
        "pascal": [*pairs("CIDEr", cider), *pairs("CLIPScore", clip)],
        "one": pairs("CLIPScore", {None: 0.8}),
        "four": [*pairs("CIDEr", {None: 0.9}), *pairs("CLIPScore", {None: 0.8})],
    }
    made = {"correlations": [], "differences": []}
    for name, of_set in rows.items():
        between = [{**who, "coefficient": "accuracy", "category": None, **apart}] if name == "pascal" else []
        for table, kind, written in (("correlations", CORRELATIONS, of_set), ("differences", DIFFERENCES, between)):
            made[table].append(tmp_path / f"{name}_{table}.parquet")
            write_table(made[table][-1], kind, written)
    block = {**BLOCK, "judgements": {"Pascal-50S": "pascal", "FOIL-1": "one", "FOIL-4": "four"}}
    files = table_files(tmp_path, ["clipscore_table4_pascal", "clipscore_table5_foil"])
    params = {"config": block, "labels": [*block["judgements"]], "simulated": []}
    run_paper("tabulate", "clipscore", made, {"tables": [*files.values()]}, **params)
    with open(files["clipscore_table4_pascal", "csv"], newline="") as file:
        rows = {(row["subject"], row["source"], row["against"]): row for row in csv.DictReader(file)}
    found = {place: float(row["value"] or "nan") for place, row in rows.items()}
    printed = [rows["CLIP-S", category, ""]["published"] for category in ("HC", "HI", "HM", "MM", "")]
    assert printed == ["56.5", "99.3", "96.4", "70.4", "80.7"]
    assert rows["length", "", ""]["published"] == "54.3"
    with open(files["clipscore_table5_foil", "csv"], newline="") as file:
        foils = {(row["subject"], row["corpus"], row["against"]): row["published"] for row in csv.DictReader(file)}
    assert (foils["CIDEr", "one", ""], foils["CIDEr", "four", ""]) == ("82.5", "90.6")
    assert [found["CLIP-S", category, ""] for category in ("HC", "HI", "HM", "MM", "")] == [100, 100, 50, 50, 75]
    assert found["CLIP-S", "", "CIDEr"] == 25
    assert intervals_outside(tmp_path)[0] == []
    text = files["clipscore_table5_foil", "md"].read_text()
    assert "FOIL-1 (here one, 20 images)" in text
    assert "FOIL-4 (here four, 20 images)" in text
    assert "FOIL-1: 40 pairs, each an observation of its own." in text


def test_the_sets_of_composite_are_pooled(made, tmp_path):
    block = {**BLOCK, "judgements": {"Flickr8k-CF": "cf", "Composite": ["composite-8k", "composite-coco"]}}
    readers = {"cf": "flickr8k-cf", "composite-8k": "composite", "composite-coco": "composite"}
    sets = {name: {"reader": reader, "clipscore": ["b32"]} for name, reader in readers.items()}
    assert [*run_mistakes({"judgements": sets}, PLACE, block)] == []
    table = "clipscore_table3_composite"
    files = table_files(tmp_path, [TABLE_2, table])
    params = {"config": block, "labels": [*block["judgements"]], "simulated": []}
    run_paper("tabulate", "clipscore", made, {"tables": [*files.values()]}, **params)
    row = records(files[table, "csv"])["CLIP-S", ""]
    assert (row["measure"], float(row["value"]), row["published"]) == ("tau-c", pytest.approx(51.2), "53.8")
    assert "Composite (here composite-8k+composite-coco, 1000 images)" in files[table, "md"].read_text()


def test_a_pool_with_a_set_of_the_wrong_kind_or_of_another_label():
    block = {**BLOCK, "judgements": {"Composite": ["expert", "foil"], "Flickr8k-Expert": "expert"}}
    config = {"judgements": {
        "expert": {"reader": "flickr8k-expert", "clipscore": ["b32"]}, "foil": {"reader": "foil", "clipscore": ["b32"]},
    }}  # fmt: skip
    kind, twice = run_mistakes(config, PLACE, block)
    assert kind.startswith("papers.clipscore.judgements.Composite is 'foil'")
    assert twice.startswith("papers.clipscore.judgements has 'expert' as Composite and as Flickr8k-Expert")


def test_an_encoder_that_scores_no_judgements(answers: Answers):
    config = copy.deepcopy(CONFIG)
    assert [*run_mistakes(config, "papers.clipscore", BLOCK)] == []
    config["judgements"]["cf"]["clipscore"] = []
    (said,) = run_mistakes(config, "papers.clipscore", BLOCK)
    answers.hold("an encoder of the paper that scores none of its judgements", said, "papers.clipscore.encoder")


def test_a_set_of_the_wrong_kind_and_a_set_that_is_named_twice(answers: Answers):
    config = {"judgements": {"foil": {"reader": "foil", "clipscore": ["b32"]}}}
    block = {**BLOCK, "judgements": {"Flickr8k-Expert": "foil"}}
    (said,) = run_mistakes(config, "papers.clipscore", block)
    answers.hold("pairs of captions in place of ratings", said, "papers.clipscore.judgements.Flickr8k-Expert")
    block = {**BLOCK, "judgements": {"FOIL-1": "foil", "FOIL-4": "foil"}}
    (said,) = run_mistakes(config, "papers.clipscore", block)
    answers.hold("a set of judgements under two labels", said, "papers.clipscore.judgements has 'foil'")
