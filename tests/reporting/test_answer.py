"""The first page of a run: effects against the table of claims, positions by hand, and the page in a browser."""

import re
from pathlib import Path
from urllib.parse import parse_qs

import axe_core_python
import pytest
import yaml
from support.chromium import browser, program
from support.paper_jobs import printer, published
from support.reporting_run import BLOCK, LINEAGE, PROVENANCE, compared, summary

from captionlab.reporting.claims.claims import claims_table, read_claims
from captionlab.reporting.claims.effects import EFFECTS, main_effects
from captionlab.reporting.claims.evidence import Evidence
from captionlab.reporting.documents.answer import answer_page, captioner_effects
from captionlab.reporting.runs.reproduction import Reproduction
from captionlab.reporting.tables.formats.csv import csv_text, read_records
from captionlab.storage.tables import read_table, write_table

CLAIM = {
    "claim": "gain", "section": "1", "statement": "It gains.", "central": "gains", "captioner": "finetuned",
    "against": "parent", "metrics": ["CIDEr"], "corpora": "all", "direction": "higher", "share": 1.0,
    "per": ["captioner"],
}  # fmt: skip
ASIDE = {**CLAIM, "claim": "aside", "statement": "Not of the abstract.", "direction": "lower"}
COST = {"cpu_seconds": 3600.0, "gpu_seconds": 0.0}
VALID = {"condition": "captioners <name> what is there", "of": "base", "met": "False"}
PAPER = {"citation": "Dessì et al. 2023, *A title*", "comparable": True}
AXE = (Path(axe_core_python.__file__).parent / "axe.min.js").read_text(encoding="utf-8")


@pytest.fixture
def judged(tmp_path):
    """Rows of the tables claims and effects of a made-up run in which CIDEr rises by 5 on COCO and falls on Flickr."""
    (tmp_path / "claims.yaml").write_text(yaml.safe_dump([CLAIM, {k: v for k, v in ASIDE.items() if k != "central"}]))
    claims = read_claims(tmp_path / "claims.yaml", "discritune")
    pairs = [compared("tuned", "clipcap", "coco", "CIDEr", 5.0, 1.0)]
    pairs.append(compared("tuned", "clipcap", "flickr", "CIDEr", -3.0, 1.0))
    paper = Reproduction(BLOCK, LINEAGE)
    run = paper.run(summary(), pairs)
    printed = printer("discritune", published("discritune"), "clip-a", paper.parents())
    evidence = {"discritune": Evidence([], printed, (paper, run))}
    table = claims_table(claims, evidence, PROVENANCE, {})
    (tmp_path / "claims.csv").write_text(csv_text(table), encoding="utf-8")
    write_table(tmp_path / "effects.parquet", EFFECTS, main_effects(claims, evidence))
    effects = read_table(tmp_path / "effects.parquet", EFFECTS).to_pylist()
    return read_records(tmp_path / "claims.csv"), effects


def page_of(claims=(), effects=(), papers=None, **changes):
    given = {
        "run": PROVENANCE,
        "costs": [COST, COST],
        "validity": [VALID],
        "numbers": [],
        "comparisons": [],
        "finished": "2026-11-28 17:05 UTC",
    }
    places = [{"link": "tables/index.html", "title": "All tables", "sentence": "By paper."}]
    return answer_page(**{**given, **changes}, claims=claims, effects=effects, papers=papers or {}, places=places)


def test_effects_are_the_comparisons_of_central_claims_as_the_table_prints_them(judged):
    claims, effects = judged
    assert [(row["claim"], row["corpus"], row["difference"]) for row in effects] == [
        ("gain", "COCO", 5.0),
        ("gain", "Flickr", -3.0),
    ]
    evidence = next(row["evidence"] for row in claims if row["claim"] == "gain")
    assert all(f"{row['corpus']} {row['text']} {row['interval']}" in evidence for row in effects)
    assert all(parse_qs(row["link"])["printed"] == [f"{row['text']} {row['interval']}"] for row in effects)
    assert {row["verdict"] for row in effects} == {"mixed"}
    # Tables 2 and 3 of the paper: CIDEr of DiscriTune minus that of ClipCap.
    assert [row["published"] for row in effects] == [pytest.approx(-3.15), pytest.approx(3.13)]


def test_right_of_the_line_is_as_claimed(judged):
    claims, effects = judged
    page = page_of(claims, effects, {"discritune": PAPER})
    bars = re.findall(r'x1="([\d.]+)%" x2="([\d.]+)%" y1="50%".*?cx="([\d.]+)%".*?cx="([\d.]+)%"', page, re.DOTALL)
    # The widest value is the upper end 6 on COCO, which lies 46 from the middle.
    by_hand = [(4, 6, 5, -3.15), (-4, -2, -3, 3.13)]
    assert [tuple(map(float, bar)) for bar in bars] == [
        tuple(pytest.approx(50 + 46 * x / 6, abs=0.02) for x in bar) for bar in by_hand
    ]
    lower = [{**row, "direction": "lower"} for row in effects]
    turned = re.findall(r'class="dot" cx="([\d.]+)%"', page_of(claims, lower, {"discritune": PAPER}))
    assert [float(place) for place in turned] == [pytest.approx(50 - 46 * x / 6, abs=0.02) for x in (5, -3)]


def test_the_page_says_what_was_run_and_what_is_not_valid(judged):
    page = page_of(*judged, {"discritune": PAPER})
    for text in (
        "made-up",
        "abc",
        "2 jobs, 2:00:00 on processors",
        "0 of 1 conditions",
        "Not met: captioners &lt;name",
    ):
        assert text in page
    assert "Claims of the abstract: 1 (mixed: 1). Of the whole paper: 2 (mixed: 2)." in page
    assert "+5.00 [+4.00, +6.00]" in page
    assert "the paper -3.15<" in page
    assert "Not of the abstract." not in page
    assert 'href="tables/claims.html#discritune-gain"' in page


def test_published_numbers_that_may_not_be_compared_are_called_so(judged):
    page = page_of(*judged, {"discritune": {**PAPER, "comparable": False}})
    assert "the paper -3.15, not comparable" in page
    assert "None of its published numbers is held against this run" in page


def test_verdicts_on_published_numbers_are_added_up(judged):
    numbers = [
        {"paper": "discritune", "part": part, "verdict": verdict, "count": count}
        for part, verdict, count in (
            ("published numbers", "agrees", "3"), ("published numbers", "agrees", "2"),
            ("published numbers", "cannot tell", "1"), ("claim", "agrees", "9"),
        )
    ]  # fmt: skip
    assert "Published numbers: agrees 5, cannot tell 1." in page_of(*judged, {"discritune": PAPER}, numbers=numbers)


def test_comparisons_that_are_not_shown_are_counted(judged):
    claims, effects = judged
    page = page_of(claims, [{**effects[0], "corpus": f"corpus {place}"} for place in range(7)], {"discritune": PAPER})
    assert page.count("<svg") == 4
    assert "3 more comparisons" in page


def test_a_claim_that_was_not_tested_has_no_picture(judged):
    claims, _ = judged
    untested = [{**row, "verdict": "not tested in this run"} for row in claims]
    page = page_of(untested, [], {"discritune": PAPER})
    assert "None of the abstract&#39;s claims was tested in this run." in page
    assert "<svg" not in page
    assert "Hollow" not in page


def test_a_run_without_papers_shows_its_captioners():
    pairs = [compared("tuned", "base", f"corpus-{place}", "CIDEr", 2.0 - place, 1.0) for place in range(6)]
    pairs += [compared("tuned", "base", "coco", "P@1", 9.0, 1.0, retriever="clip", candidates="100 file-order")]
    pairs += [compared("tuned", "base", "coco", "P@1", 1.0, 1.0, retriever="clip", candidates="full")]
    cider, p_at_1 = captioner_effects(pairs)
    assert ([bar.text for bar in cider.bars][:1], cider.more) == (
        ["+2.00 [+1.00, +3.00], p < 0.001 after Holm's correction"],
        2,
    )
    assert parse_qs(cider.bars[0].link)["printed"] == ["+2.00 [+1.00, +3.00]"]
    assert [bar.label for bar in p_at_1.bars] == ["tuned against base on coco in main, judged by clip"]
    assert "2 more comparisons" in page_of(comparisons=pairs)
    assert "Differences" not in page_of()


@pytest.mark.skipif(program() is None, reason="Chromium is not installed")
def test_the_page_fits_screens_and_axe_finds_nothing(judged, tmp_path):
    long = {"discritune": {**PAPER, "citation": "A very long citation of many words. " * 12}}
    (tmp_path / "index.html").write_text(page_of(*judged, long), encoding="utf-8")
    with browser(tmp_path / "profile", tmp_path) as page:
        for width in (1400, 1024, 800, 390):
            for scheme in ("light", "dark"):
                page.send("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
                page.size(width, 900, width < 600)
                page.open((tmp_path / "index.html").as_uri())
                assert page.run("document.documentElement.scrollWidth") <= width
                assert page.run("[...document.querySelectorAll('.bars svg')].every((bar) => bar.clientWidth > 100)")
                page.run(f"{AXE}; null")
                assert page.run("axe.run().then(({ violations }) => violations.map(({ id }) => id))") == []
        assert page.errors == []
