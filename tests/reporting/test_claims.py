"""Claims are judged by intervals: held, refuted, mixed, cannot tell, and not tested."""

import re
from dataclasses import replace

import pytest
import yaml
from support.paper_jobs import PAPERS, printer
from support.paper_jobs import published as published_of
from support.reporting_run import BLOCK, LINEAGE, PROVENANCE, compared, row, summary

from captionlab.reporting.claims.claim_cards import claim_cards
from captionlab.reporting.claims.claims import ClaimError, claims_table, read_claims
from captionlab.reporting.claims.evidence import Evidence
from captionlab.reporting.runs.published import Published
from captionlab.reporting.runs.reproduction import Reproduction
from captionlab.reporting.tables.verdicts import POWER

PRINTED = published_of("discritune")
TABLES = {"COCO": "2", "Flickr": "3"}
CLAIM = {
    "claim": "gain", "section": "1", "statement": "It gains.", "captioner": "finetuned", "against": "parent",
    "metrics": ["CIDEr"], "corpora": "all", "direction": "higher", "share": 1.0, "per": ["captioner"],
}  # fmt: skip


def claims(tmp_path, **changes):
    (tmp_path / "claims.yaml").write_text(yaml.safe_dump([{**CLAIM, **changes}]))
    return read_claims(tmp_path / "claims.yaml", "discritune")


def judged(claims, comparisons=(), rows=None, block=BLOCK, published=PRINTED):
    paper = Reproduction(block, LINEAGE)
    run = paper.run(summary() if rows is None else rows, comparisons)
    return claims_table(claims, evidence(paper, run, published), PROVENANCE, {}).records


def evidence(paper, run, published=None):
    retriever = next(iter(paper.retrievers_of(run)), None)
    return {"discritune": Evidence([], printer("discritune", published, retriever, paper.parents()), (paper, run))}


def pairs(coco: float, flickr: float, half: float = 1.0):
    """Differences of the finetuned captioner from its parent in CIDEr."""
    return [
        compared("tuned", "clipcap", "coco", "CIDEr", coco, half),
        compared("tuned", "clipcap", "flickr", "CIDEr", flickr, half),
    ]


@pytest.mark.parametrize(
    ("coco", "flickr", "expected"),
    [
        (5.0, 3.0, "holds"),
        (5.0, 0.5, "cannot tell"),
        (5.0, -3.0, "mixed"),
        (-5.0, -3.0, "does not hold"),
        (0.5, -0.5, "cannot tell"),
        (1.0, 1.0, "cannot tell"),  # an interval that ends at 0 does not leave it out
    ],
)
def test_a_claim_is_judged_by_the_intervals_of_the_run(tmp_path, coco, flickr, expected):
    (record,) = judged(claims(tmp_path), pairs(coco, flickr))
    assert record["verdict"] == expected
    assert record["comparisons"] == 2
    assert f"COCO {coco:+.2f} [{coco - 1:+.2f}, {coco + 1:+.2f}], p < 0.001, n = 500, 1 training" in record["evidence"]


@pytest.mark.parametrize(
    ("coco", "flickr", "count"),
    [
        (5.0, 3.0, "2 of 2"),
        (5.0, 0.5, "1 of 2, 1 too small to tell"),
        (5.0, -3.0, "1 of 2, 1 opposite"),
        (0.5, -3.0, "0 of 2, 1 opposite, 1 too small to tell"),
    ],
)
def test_the_table_counts_what_is_confirmed_and_what_is_too_small(tmp_path, coco, flickr, count):
    paper = Reproduction(BLOCK, LINEAGE)
    found = evidence(paper, paper.run(summary(), pairs(coco, flickr)))
    (block,) = claims_table(claims(tmp_path), found, PROVENANCE, {}).blocks
    assert block.rows[0][2].text == count


def test_the_direction_turns_the_verdict(tmp_path):
    (record,) = judged(claims(tmp_path, direction="lower"), pairs(-5.0, -3.0))
    assert (record["verdict"], record["as_claimed"], record["opposite"]) == ("holds", 2, 0)


@pytest.mark.parametrize(
    ("corpora", "names"),
    [("in-domain", ["COCO"]), ("cross-domain", ["Flickr"]), ("all", ["COCO", "Flickr"]), (["Flickr"], ["Flickr"])],
)
def test_corpora_of_a_claim(tmp_path, corpora, names):
    (record,) = judged(claims(tmp_path, corpora=corpora), pairs(5.0, 3.0))
    assert [part.split()[0] for part in record["evidence"].split("; ")] == names


def test_a_replication_too_small_for_the_papers_own_difference_says_so(tmp_path):
    """In the paper finetuning lowers CIDEr on COCO from 108.55 to 105.40, and raises it on Flickr, 41.65 to 44.78."""
    printed = {corpus: PRINTED.find(table, "DiscriTune-COCO", corpus, "C").value for corpus, table in TABLES.items()}
    printed = {c: v - PRINTED.find(TABLES[c], "ClipCap-COCO", c, "C").value for c, v in printed.items()}
    (record,) = judged(claims(tmp_path), pairs(3.0, 3.0, half=20.0))
    assert record["verdict"] == "cannot tell"
    # 20 is half of the interval, 1.4294 = (1.96 + 0.8416) / 1.96.
    assert record["smallest_difference"] == "; ".join(
        f"28.59, too small a sample for the paper's {printed[corpus]:+.2f}" for corpus in ("COCO", "Flickr")
    )
    (record,) = judged(claims(tmp_path), pairs(3.0, 3.0, half=1.0))
    assert record["smallest_difference"] == "1.43, the paper's -3.15; 1.43, the paper's +3.13"
    # A run of other data or models has nothing to do with it.
    (record,) = judged(claims(tmp_path), pairs(3.0, 3.0, half=20.0), published=None)
    assert record["smallest_difference"] == "28.59; 28.59"
    # A difference that is larger than the paper's is shown by few images too.
    (record,) = judged(claims(tmp_path), pairs(30.0, 30.0, half=20.0))
    assert (record["verdict"], record["smallest_difference"]) == (
        "holds", "28.59, the paper's -3.15; 28.59, the paper's +3.13"
    )  # fmt: skip


def test_only_the_first_retriever_stands_for_the_papers(tmp_path):
    """P@1 on COCO rises from 74.2 to 84.4 in the paper; 15 either way is too little for that by its own retriever."""
    block = {**BLOCK, "retrievers": ["clip-b", "clip-a"]}
    found = [
        {**compared("tuned", "clipcap", "coco", "P@1", 1.0, 15.0), "retriever": name, "candidates": "100 file-order"}
        for name in ("clip-a", "clip-b")
    ]
    changes = {"metrics": ["P@1"], "corpora": ["COCO"], "per": ["retriever"]}
    records = {record["scope"]: record for record in judged(claims(tmp_path, **changes), found, block=block)}
    apart = (
        PRINTED.find("1", "DiscriTune-COCO", "COCO", "P@1").value
        - PRINTED.find("1", "ClipCap-COCO", "COCO", "P@1").value
    )
    assert records["judged by clip-a"]["smallest_difference"] == "21.44"
    assert records["judged by clip-b"]["smallest_difference"] == (
        f"21.44, too small a sample for the paper's {apart:+.2f}"
    )


def test_a_difference_that_the_paper_does_not_have_asks_for_no_sample(tmp_path):
    values = dict(PRINTED.values)
    values["3", "DiscriTune-COCO", "Flickr", "C"] = values["3", "ClipCap-COCO", "Flickr", "C"]
    same = Published("discritune", values)
    (record,) = judged(claims(tmp_path, corpora=["Flickr"]), pairs(3.0, 3.0, half=20.0), published=same)
    assert record["smallest_difference"] == "28.59, the paper's +0.00"


def test_numbers_of_the_paper_stand_under_any_label_of_a_corpus(tmp_path):
    """Table 1 calls Concadia's images by one name, Table 3 by one for each text: 16.70 and 14.99 on descriptions."""
    block = {**BLOCK, "corpora": {"Concadia": "flickr", "Concadia-Descriptions": "flickr"}}
    (record,) = judged(claims(tmp_path), pairs(5.0, 3.0), block=block)
    assert record["smallest_difference"] == "1.43, the paper's +1.71"


def test_the_label_of_a_comparison_comes_before_others_of_its_corpus(tmp_path):
    """Table 3 has both texts of Concadia: 5.57 and 4.35 on captions, which the comparison is called after."""
    block = {**BLOCK, "corpora": {"Concadia-Descriptions": "flickr", "Concadia-Captions": "flickr"}}
    (record,) = judged(claims(tmp_path), pairs(5.0, 3.0), block=block)
    assert record["smallest_difference"] == "1.43, the paper's +1.22"


GAINS = {
    "claim": "more", "section": "1", "statement": "It gains more.", "direction": "higher", "share": 1.0, "per": [],
    "evidence": {"experiment": "gains", "measure": "BLEU@4"},
}  # fmt: skip


@pytest.mark.parametrize(
    ("half", "expected"),
    [
        (0.01, "0.014, the paper's +0.030"),
        (0.1, "0.143, too small a sample for the paper's +0.030"),
    ],
)
def test_a_gain_is_one_over_the_parent_in_the_run(tmp_path, half, expected):
    """In the paper BLEU-4 rises from 1.94 to 2.03 on descriptions and from 0.24 to 0.30 on captions."""
    (tmp_path / "gains.yaml").write_text(yaml.safe_dump([GAINS]))
    found = {
        "experiment": "gains", "subject": "DiscriTune-COCO", "source": None, "level": None,
        "corpus": "Concadia-Descriptions", "measure": "BLEU@4", "scorer": None,
        "against": "the gain on Concadia-Captions", "own": None, "margin": None, "difference": 0.0,
        "ci_low": -half, "ci_high": half, "seeds": 1, "n": 500, "places": {},
    }  # fmt: skip
    paper = Reproduction(BLOCK, LINEAGE)
    (of_run,) = evidence(paper, paper.run(summary()), PRINTED).values()
    claims = read_claims(tmp_path / "gains.yaml", "discritune")
    table = claims_table(claims, {"discritune": replace(of_run, differences=[found])}, PROVENANCE, {})
    assert [record["smallest_difference"] for record in table.records] == [expected]


def test_what_is_judged_apart_becomes_a_row_of_its_own(tmp_path):
    records = judged(claims(tmp_path, metrics=["P@1"], per=["captioner", "retriever"], corpora="in-domain"))
    assert [record["scope"] for record in records] == [
        "DiscriTune-COCO against ClipCap-COCO, judged by clip-a",
        "DiscriTune-COCO against ClipCap-COCO, judged by clip-b",
    ]


def test_without_a_paired_test_the_values_themselves_decide(tmp_path):
    """People 60 ± 1 and the finetuned captioner 84 ± 1 by the first retriever; people have no captions of Flickr."""
    (record,) = judged(claims(tmp_path, metrics=["P@1"], against="Human captions", per=[]))
    assert record["verdict"] == "holds"
    assert record["evidence"] == (
        "COCO +24.0 [+22.6, +25.4], n = 500, 1 training; COCO +24.0 [+22.6, +25.4], n = 500, 1 training; "
        "not in this run: Flickr"
    )


def test_evidence_says_whose_it_is_where_several_captioners_are_compared(tmp_path):
    block = {**BLOCK, "captioners": {**BLOCK["captioners"], "DiscriTune-Flickr": "tuned"}}
    (record,) = judged(claims(tmp_path, per=[]), pairs(5.0, 3.0), block=block)
    assert [part.rsplit(" on ")[0] for part in record["evidence"].split("; ")] == [
        *["DiscriTune-COCO against ClipCap-COCO"] * 2,
        *["DiscriTune-Flickr against ClipCap-COCO"] * 2,
    ]
    for record in judged(claims(tmp_path, per=["captioner"]), pairs(5.0, 3.0), block=block):
        assert "against" not in record["evidence"]


def test_the_footer_says_what_one_training_can_tell(tmp_path):
    paper = Reproduction(BLOCK, LINEAGE)
    found = evidence(paper, paper.run(summary(), pairs(5.0, 3.0)))
    table = claims_table(claims(tmp_path), found, PROVENANCE, {})
    assert any("another seed can give another verdict" in note for note in table.footnotes)


def test_a_claim_that_the_run_has_nothing_on_is_not_tested(tmp_path):
    for change in ({"metrics": ["SPICE"]}, {"captioner": "DiscriTune-BLIP"}, {"corpora": ["nocaps near"]}):
        (record,) = judged(claims(tmp_path, **change))
        assert (record["verdict"], record["evidence"], record["comparisons"]) == ("not tested in this run", "", 0)


def test_the_page_tells_claims_from_verdicts(tmp_path):
    """A claim that is judged once, and one that is judged on each of two corpora."""
    paper = Reproduction(BLOCK, LINEAGE)
    both = [*claims(tmp_path), *claims(tmp_path, claim="apart", per=["corpus"])]
    table = claims_table(both, evidence(paper, paper.run(summary(), pairs(5.0, -3.0))), PROVENANCE, {})
    assert "The 2 claims have 3 verdicts" in table.description
    page = claim_cards(table)
    assert "The 2 claims have 3 verdicts" in page
    assert "<p>Verdicts:</p>" in page
    for verdict in ("holds", "mixed", "does not hold"):
        assert re.search(rf"1</b> {verdict}<", page)


def test_two_labels_of_one_corpus_count_once(tmp_path):
    block = {**BLOCK, "corpora": {"Concadia": "flickr", "Concadia-Descriptions": "flickr"}}
    (record,) = judged(claims(tmp_path), pairs(5.0, 3.0), block=block)
    assert record["comparisons"] == 1


def test_corpora_that_a_claim_goes_without_do_not_count(tmp_path):
    (record,) = judged(claims(tmp_path, without=["Flickr"]), pairs(5.0, -3.0))
    assert (record["verdict"], record["comparisons"]) == ("holds", 1)


def test_claims_of_papers_that_the_config_does_not_ask_for_are_not_made(tmp_path):
    assert claims_table(claims(tmp_path), {}, PROVENANCE, {}).records == []


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"direction": "up"}, "direction is 'up'; it must be higher or lower"),
        ({"corpora": "some"}, "corpora is 'some'"),
        ({"per": ["image"]}, "per names 'image'"),
        ({"share": 0}, "share is 0"),
        ({"shar": 1}, "unknown key 'shar'"),
    ],
)
def test_mistakes_in_a_claim_are_named(tmp_path, changes, message):
    with pytest.raises(ClaimError, match=f"gain.*{message}"):
        claims(tmp_path, **changes)


def test_a_claim_without_a_key_is_named(tmp_path):
    entry = {key: value for key, value in CLAIM.items() if key != "share"}
    (tmp_path / "claims.yaml").write_text(yaml.safe_dump([entry]))
    with pytest.raises(ClaimError, match=r"gain.* lacks 'share'"):
        read_claims(tmp_path / "claims.yaml", "discritune")


def test_the_paper_bears_out_its_own_claims():
    """A run that measured exactly the published numbers, with tiny intervals."""
    names = {"B@4": "BLEU@4", "M": "METEOR", "C": "CIDEr", "S": "SPICE", "P@1": "P@1"}
    rows, labels, corpora = [], set(), set()
    for (table, label, corpus, metric), value in PRINTED.values.items():
        if table in ("1", "2", "3"):
            judge = {"retriever": "clip", "candidates": "100 file-order"} if metric == "P@1" else {}
            rows.append(row(label, corpus, names[metric], value.value, 0.004, **judge))
            labels.add(label)
            corpora.add(corpus)
    lineage = {}
    for label in labels:
        method, _, corpus = label.partition("-")
        parent = f"ClipCap-{corpus}" if method == "DiscriTune" else None
        family = "human" if method == "Human captions" else "clipcap"
        lineage[label] = {"parent": parent, "corpora": [corpus] if corpus else [], "family": family}
    block = {"comparable": True, "captioners": {x: x for x in labels}, "corpora": {x: x for x in corpora}}
    claims = read_claims(PAPERS / "discritune" / "claims.yaml", "discritune")
    paper = Reproduction(block, lineage)
    records = claims_table(claims, evidence(paper, paper.run(rows)), PROVENANCE, {}).records
    judged = {(r["claim"], r["scope"]): r["verdict"] for r in records if r["verdict"] != "not tested in this run"}
    assert {claim for claim, _ in judged} >= {"retrieval-beats-people", "similarity-cross-domain"}
    assert set(judged.values()) == {"holds"}


def test_the_power_of_a_central_claim_by_hand(tmp_path):
    central = claims(tmp_path, central="its abstract says so", metrics=["CIDEr", "BLEU@4"])
    bleu = [compared("tuned", "clipcap", corpus, "BLEU@4", 1.0, 0.5) for corpus in ("coco", "flickr")]
    comparisons = [*pairs(5.0, 3.0, half=2.0), *bleu]
    records = judged(central, comparisons)
    # The paper's CIDEr falls by 3.15 on COCO and rises by 3.13 on Flickr, its BLEU-4 falls by 0.29 and rises by 1.27.
    of_cider, of_bleu = (-3.15 + 3.13) / (2 * POWER * 2.0), (-0.29 + 1.27) / (2 * POWER * 0.5)
    assert [record["printed"] for record in records] == [4]
    assert records[0]["power"] == pytest.approx((of_cider + of_bleu) / 2, abs=1e-3)
    assert records[0]["central"] == "its abstract says so"
    # What may not be held against this run's numbers counts here, as a size and no more.
    apart = replace(evidence_of(comparisons)["discritune"], comparable=False)
    (record,) = claims_table(central, {"discritune": apart}, PROVENANCE, {}).records
    assert (record["printed"], "the paper's" in record["smallest_difference"]) == (4, False)


def evidence_of(comparisons):
    paper = Reproduction(BLOCK, LINEAGE)
    return evidence(paper, paper.run(summary(), comparisons), PRINTED)


def test_only_central_claims_have_a_power(tmp_path):
    (record,) = judged(claims(tmp_path), pairs(5.0, 3.0))
    assert (record["central"], record["printed"], record["power"]) == ("", None, None)
    (record,) = judged(claims(tmp_path, central="its abstract says so"), pairs(5.0, 3.0), published=None)
    assert (record["printed"], record["power"]) == (0, None)


def test_every_paper_that_names_claims_in_its_abstract_says_which():
    central = {
        paper: [claim.claim for claim in read_claims(PAPERS / paper / "claims.yaml", paper) if claim.central]
        for paper in ("clipscore", "discritune", "probing", "scenes")
    }
    assert {paper: len(of_paper) for paper, of_paper in central.items()} == {
        "clipscore": 2, "discritune": 6, "probing": 5, "scenes": 4
    }  # fmt: skip
