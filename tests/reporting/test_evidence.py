"""Claims that are judged by a table of differences."""

import re

import pytest
import yaml
from support.paper_jobs import PAPERS, PROVENANCE, ROOT, printer, published
from support.paper_jobs import judged as judged_by

from captionlab.reporting.claims.claims import ClaimError, claims_table, read_claims

CLAIM = {
    "claim": "own", "section": "1", "statement": "It rises.", "direction": "higher", "share": 1.0, "per": ["subject"],
    "evidence": {"experiment": "generated", "measure": "score", "own": True, "subject": ["A", "B"]},
}  # fmt: skip
MODELS = ("UNITER", "ROSITA", "ViLBERT", "CLIP", "LXMERT")


def row(subject, difference, against="CE", half=0.01, **changes):
    return {
        "experiment": "generated", "subject": subject, "source": None, "level": None, "corpus": "toy",
        "measure": "score", "scorer": None, "against": against, "own": None, "difference": difference, "margin": None,
        "ci_low": difference - half, "ci_high": difference + half, "seeds": 1, "n": 500, **changes,
    }  # fmt: skip


def judged(tmp_path, differences, **changes):
    (tmp_path / "claims.yaml").write_text(yaml.safe_dump([{**CLAIM, **changes}]))
    return judged_by(read_claims(tmp_path / "claims.yaml", "probing"), differences, "probing").records


def needs(experiment):
    """What the paper's claims on an experiment say that they need."""
    claims = yaml.safe_load((PAPERS / "discritune" / "claims.yaml").read_text(encoding="utf-8"))
    (found,) = {c.get("needs") for c in claims if c.get("evidence", {}).get("experiment") == experiment}
    return found


def test_the_rows_with_these_values_decide(tmp_path):
    differences = [
        row("A", 2.0, own=True, scorer="X", seeds=3),
        row("A", -5.0, own=False, scorer="Y"),
        row("B", -1.0, own=True, scorer="Y"),
        row("C", 1.0, own=True, scorer="Z"),
        row("A", -7.0, measure="CIDEr"),
    ]
    first, second = judged(tmp_path, differences)
    assert (first["scope"], first["verdict"], first["comparisons"]) == ("A", "holds", 1)
    assert first["evidence"] == "score by X against CE +2.00 [+1.99, +2.01], n = 500, 3 trainings"
    assert (second["scope"], second["verdict"], second["opposite"]) == ("B", "does not hold", 1)
    assert second["evidence"].endswith("n = 500, 1 training")
    (together,) = judged(tmp_path, differences, per=[])
    assert (together["scope"], together["verdict"]) == ("all comparisons", "mixed")


def test_the_largest_level_counts(tmp_path):
    evidence = {"experiment": "count", "level": "largest"}
    differences = [
        row("A", value, experiment="count", level=level, scorer=scorer)
        for scorer, level, value in (("X", 4.0, -1.0), ("X", 7.0, 2.0), ("Y", 5.0, -3.0), ("Y", 4.0, 9.0))
    ]
    found = judged(tmp_path, differences, evidence=evidence, per=["scorer"])
    assert [(record["scope"], record["verdict"]) for record in found] == [("by X", "holds"), ("by Y", "does not hold")]


def test_of_several_corpora_the_evidence_says_which(tmp_path):
    differences = [row("A", 8.0, corpus="Flickr"), row("A", 2.0, corpus="COCO"), row("A", 1.0, corpus="else")]
    for corpora, told in (
        (["Flickr", "COCO"], ["score on Flickr against", "score on COCO against"]),
        ("COCO", ["score against"]),
    ):
        (record,) = judged(tmp_path, differences, evidence={"experiment": "generated", "corpus": corpora})
        assert [part.split(" CE")[0] for part in record["evidence"].split("; ")] == told


def test_corpora_of_the_claim_that_the_run_lacks_are_named(tmp_path):
    evidence = {"experiment": "generated", "corpus": ["Flickr", "COCO", "ConCap"]}
    first, second = judged(
        tmp_path, [row("A", 8.0, corpus="Flickr"), row("B", 2.0, corpus="COCO"), row("B", 2.0, corpus="ConCap")],
        evidence=evidence,
    )  # fmt: skip
    assert (first["verdict"], first["comparisons"]) == ("holds", 1)
    assert first["evidence"].endswith("1 training; not in this run: COCO, ConCap")
    assert second["evidence"].endswith("; not in this run: Flickr")
    (untested,) = judged(tmp_path, [], evidence=evidence)
    assert untested["evidence"] == ""


@pytest.mark.parametrize("experiment", ["baselines", "rewards", "hard-distractors"])
def test_an_untested_ablation_names_the_configs_that_have_it(tmp_path, experiment):
    asked = {"evidence": {"experiment": experiment}, "needs": needs(experiment)}
    (record,) = judged(tmp_path, [row("A", 8.0)], **asked)
    assert record["verdict"] == "not tested in this run"
    named = re.findall(r"config/\w+\.yaml", record["evidence"])
    assert len(named) == 4
    for config, below in (named[:2], named[2:]):
        blocks = [yaml.safe_load((ROOT / name).read_text(encoding="utf-8")) for name in (config, below)]
        assert experiment in blocks[0]["papers"]["discritune"]["variants"]
        assert "variants" not in blocks[1]["papers"]["discritune"]
    (record,) = judged(tmp_path, [row("A", 8.0, experiment=experiment)], **asked)
    assert "config" not in record["evidence"]


def test_an_untested_study_asks_for_people(tmp_path):
    (record,) = judged(tmp_path, [], evidence={"experiment": "study"}, needs=needs("study"))
    assert record["evidence"] == "tested with answers of people (docs/study.md)"
    assert (ROOT / "docs" / "study.md").exists()


def test_a_run_too_small_for_the_papers_difference_says_so(tmp_path):
    """UNITER's BLEU@4 is below that of CE in the paper; the run's interval is four times as wide as that."""
    numbers = published("probing")
    apart = numbers.find("2", "UNITER", "COCO", "Bleu4").value - numbers.find("2", "CE", "COCO", "Bleu4").value
    half = 2 * abs(apart)
    (tmp_path / "claims.yaml").write_text(
        yaml.safe_dump([{**CLAIM, "evidence": {"measure": "BLEU@4"}, "direction": "lower"}])
    )
    claims = read_claims(tmp_path / "claims.yaml", "probing")
    differences = [row("UNITER", 0.0, half=half, measure="BLEU@4", corpus="COCO")]
    (record,) = judged_by(claims, differences, "probing", numbers).records
    assert record["smallest_difference"] == (
        f"{half * 2.801585 / 1.959964:.2f}, too small a sample for the paper's {apart:+.2f}"
    )
    (record,) = judged_by(claims, differences, "probing").records  # not comparable
    assert "paper" not in record["smallest_difference"]


def test_a_margin_of_a_non_inferiority_that_is_too_small_is_named(tmp_path):
    """Half-width 5: 5 x 2.8016 / 1.96 would be shown in four of five runs, and no difference at all is only 2."""
    measure = "non-inferiority of perplexity"
    found = [row("A", 2.0, measure=measure, ci_low=-3.0, ci_high=7.0, margin=2.0)]
    (record,) = judged(tmp_path, found, evidence={"measure": measure})
    assert record["smallest_difference"] == "nothing within 2.00, for so few only within 7.15 or more"


@pytest.mark.parametrize(
    ("margin", "half", "expected"),
    [
        (5.0, 1.0, "1.43"),  # 2.8016 / 1.96 of the half-width; the far side of a wide margin is out of reach
        # Near the least margin; in deviations the chance is Phi(3.116 - 1.96) - Phi(3.116 + 1.96 - 6.507) = 0.80.
        (1.66, 1.0, "1.59"),
        (1.0, 1.0, "nothing within 1.00, for so few only within 1.65 or more"),  # (1.96 + 1.2816) / 1.96
    ],
)
def test_a_margin_that_is_too_small_for_the_run_is_named(tmp_path, margin, half, expected):
    near = {"measure": "nearness of score", "ci_low": margin - half, "ci_high": margin, "margin": margin}
    (record,) = judged(tmp_path, [row("A", margin, **near)], evidence={"measure": "nearness of score"})
    assert record["smallest_difference"] == expected


def test_what_they_are_held_against_is_not_mixed_up(tmp_path):
    """The same place twice: against the original captions, and against fewer nouns."""
    differences = [row("A", 8.0, experiment="count", level=7.0), row("A", -2.0, "few", experiment="count", level=7.0)]
    for evidence, verdicts in (({"against": "few"}, ["does not hold"]), ({}, ["mixed"])):
        found = judged(tmp_path, differences, evidence={"experiment": "count", "level": "largest", **evidence})
        assert [record["verdict"] for record in found] == verdicts


def test_of_probes_the_splits_are_named(tmp_path):
    changes = {"evidence": {"experiment": "probing"}, "repetitions": "splits of 1 training"}
    (record,) = judged(tmp_path, [row("A", 2.0, experiment="probing", seeds=9)], **changes)
    assert record["evidence"].endswith("n = 500, 9 splits of 1 training")


def test_one_of_many_comparisons_does_not_hold_by_chance(tmp_path):
    """5 of 20 intervals leave 0 out by a little, as in a claim that asks for one of 20."""
    differences = [row("A", 2.1, scorer=f"S{number}", half=2.0) for number in range(5)]
    differences += [row("A", 0.5, scorer=f"T{number}", half=2.0) for number in range(15)]
    (record,) = judged(tmp_path, differences, evidence={"experiment": "generated"}, share=0.05, per=[])
    assert (record["verdict"], record["as_claimed"]) == ("cannot tell", 5)
    differences[0] |= {"ci_low": 0.9, "ci_high": 3.3}
    (record,) = judged(tmp_path, differences, evidence={"experiment": "generated"}, share=0.05, per=[])
    assert record["verdict"] == "holds"


def test_without_differences_a_claim_is_not_tested(tmp_path):
    (record,) = judged(tmp_path, [])
    assert record["verdict"] == "not tested in this run"
    assert claims_table(read_claims(tmp_path / "claims.yaml", "probing"), {}, PROVENANCE, {}).records == []


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"evidence": {"scorers": "A"}}, "evidence names 'scorers'"),
        ({"per": ["captioner"]}, "per names 'captioner'"),
        ({"metrics": ["CIDEr"]}, "unknown key 'metrics'"),
    ],
)
def test_mistakes_in_a_claim_are_named(tmp_path, changes, message):
    with pytest.raises(ClaimError, match=f"own.*{message}"):
        judged(tmp_path, [], **changes)


def test_the_paper_bears_out_its_own_claims():
    """A run that measured exactly the published numbers, with tiny intervals."""
    numbers = published("probing")
    ours = {
        "Bleu1": "BLEU@1", "Bleu4": "BLEU@4", "METEOR": "METEOR", "ROUGE": "ROUGE-L", "CIDEr": "CIDEr",
        "SPICE": "SPICE", "PPL": "perplexity", "Avg. Leng.": "length", "Noun": "nouns",
    }  # fmt: skip

    def value(table, label, metric):
        return numbers.find(table, label, "COCO", metric).value

    differences = []
    for model in MODELS:
        for judge in MODELS:
            apart = value("2", model, f"score by {judge}") - value("2", "CE", f"score by {judge}")
            differences.append(row(model, apart, scorer=judge, own=model == judge))
        for table, metrics in (("2", list(ours)[:6]), ("4", list(ours)[6:])):
            for metric in metrics:
                apart = value(table, model, metric) - value(table, "CE", metric)
                differences.append(row(model, apart, measure=ours[metric]))
        repeated = [value("4", label, "Noun") - value("4", label, "Uni. Noun") for label in (model, "CE")]
        differences.append(row(model, repeated[0] - repeated[1], measure="repeated nouns"))
        shares = {"first pattern": "sentence 1", "published pattern": "sentence 1", "published prefix": "prefix 1"}
        for measure, printed in shares.items():
            apart = value("5", model, f"{printed} ratio") - 50
            differences.append(row(model, apart, "half of the images", measure=measure))
        rebuilt = value("7", model, "Recons.") - value("7", model, "CE")
        differences.append(row(model, rebuilt, experiment="template", source="published", scorer=model, own=True))
    for one in differences:
        assert printer("probing", numbers)({**one, "corpus": "COCO"}) == pytest.approx(one["difference"])
    claims = read_claims(PAPERS / "probing" / "claims.yaml", "probing")
    records = judged_by(claims, differences, "probing").records
    found = {record["claim"]: set() for record in records}
    for record in records:
        found[record["claim"]].add(record["verdict"])
    # The paper has no numbers for its figures and its example.
    unprinted = {
        "unreadable-captions-preferred", "wrong-visual-words-cost-score", "other-words-cost-less",
        "other-words-cost-little", "single-stream-scorers-prefer-nouns", "more-visual-words-preferred",
        "more-visual-words-change-uniter-little", "lxmert-prefers-verbs", "single-stream-scorers-connect-few-nouns",
        "two-stream-scorers-connect-nouns", "clip-connects-by-and", "rosita-connects-by-but", "vilbert-connects-by-at",
        "clip-connects-by-near", "lxmert-connects-by-of",
    }  # fmt: skip
    assert {claim for claim, verdicts in found.items() if verdicts == {"not tested in this run"}} == unprinted
    assert all(verdicts == {"holds"} for claim, verdicts in found.items() if claim not in unprinted)
    assert sum(r["claim"] == "own-score-rises" for r in records) == 5
    (differ,) = (record for record in records if record["claim"] == "preferences-differ")
    assert (differ["comparisons"], differ["as_claimed"]) == (20, 11)
