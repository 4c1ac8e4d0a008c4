"""Where cells lead: the captions that a number is of."""

from urllib.parse import parse_qs

from support.reporting_run import BLOCK, LINEAGE, PROVENANCE, compared, retrieved, row, summary
from support.scenes_run import scenes_run

from captionlab.evaluation.rows import row as measured_row
from captionlab.papers.probing.values import ProbingRun
from captionlab.papers.scenes.captions import metrics_table
from captionlab.papers.scenes.values import CAPTIONS
from captionlab.reporting.claims.claims import CaptionersClaim, claims_table
from captionlab.reporting.claims.evidence import Evidence
from captionlab.reporting.runs.links import captions_link
from captionlab.reporting.runs.published import Published
from captionlab.reporting.runs.reproduction import Reproduction
from captionlab.reporting.runs.values import Coordinates, link_of
from captionlab.reporting.tables.evaluation_table import evaluation_table
from captionlab.reporting.tables.sheets import Sheet


def state_of(link: str) -> dict[str, str]:
    """What an address says."""
    page, _, state = link.partition("#")
    assert page == "../browser/index.html"
    return {name: value for name, [value] in parse_qs(state, strict_parsing=True).items()}


def test_an_address_says_what_is_shown_and_nothing_else():
    link = captions_link("a&b", "me", "main", "P@1", "clip", "100 file-order", "other")
    assert state_of(link) == {
        "corpus": "a&b", "a": "me", "b": "other", "evaluation": "main", "metric": "P@1", "retriever": "clip",
        "candidates": "100 file-order", "order": "difference",
    }  # fmt: skip
    assert state_of(captions_link("c", "me", "main", "CIDEr")) == {
        "corpus": "c", "a": "me", "evaluation": "main", "metric": "CIDEr"
    }  # fmt: skip


def test_every_number_of_the_evaluation_leads_to_its_captions():
    rows = summary()
    table = evaluation_table(rows, [], [], PROVENANCE)
    links = [state_of(c.link) for block in table.blocks for cells in block.rows for c in cells if c.link]
    names = {
        "corpus": "corpus",
        "captioner": "a",
        "evaluation": "evaluation",
        "metric": "metric",
        "retriever": "retriever",
        "candidates": "candidates",
    }
    expected = [
        {to: r[name] for name, to in names.items() if r[name]}
        | {"printed": "{value:.{0}f} [{ci_low:.{0}f}, {ci_high:.{0}f}]".format(1 if r["retriever"] else 2, **r)}
        for r in rows
    ]
    assert sorted(map(repr, map(sorted, map(dict.items, links)))) == sorted(
        map(repr, map(sorted, map(dict.items, expected)))
    )


def test_a_number_of_a_paper_leads_to_its_captions_and_a_missing_one_nowhere():
    run = Reproduction(BLOCK, LINEAGE).run([retrieved("tuned", "coco", 84.0), row("tuned", "coco", "CIDEr", 60.0)])
    ours, theirs = Sheet(run, PROVENANCE).value(Coordinates("tuned", "coco", "P@1", "clip-a"))
    assert state_of(ours.link)["candidates"] == "100 file-order"
    assert theirs.link == ""
    assert Sheet(run, PROVENANCE).value(Coordinates("people", "coco", "CIDEr"))[0].link == ""


def test_a_mean_over_trainings_leads_to_itself():
    state = state_of(link_of({**row("tuned", "coco", "CIDEr", 60.0), "seeds": 3}))
    assert (state["a"], state["metric"], state["seeds"]) == ("tuned", "CIDEr", "3")


def test_a_difference_leads_to_both_captioners():
    run = Reproduction(BLOCK, LINEAGE).run([], [compared("tuned", "clipcap", "coco", "CIDEr", -36.0, 1.0)])
    state = state_of(Sheet(run, PROVENANCE).difference(Coordinates("tuned", "coco", "CIDEr"), "clipcap").link)
    assert (state["a"], state["b"], state["order"]) == ("tuned", "clipcap", "difference")
    assert Sheet(run, PROVENANCE).difference(Coordinates("clipcap", "coco", "CIDEr"), "tuned").link == ""


def test_a_difference_of_roles_leads_to_their_first_trainings():
    block = {"comparable": False, "corpora": {"COCO": "coco"}, "captioners": {}, "scorers": {}}
    spoken = {"evaluation": "main", "first": {"CE": "fc", "UNITER": "fc-uniter"}, "scorers": {"UNITER": "toy-uniter"}}
    run = ProbingRun([], [], Published("paper", {}), block, spoken=spoken)
    state = state_of(run.link(Coordinates("UNITER", "coco", "score", "UNITER"), "CE"))
    assert state == {
        "corpus": "coco", "evaluation": "main", "a": "fc-uniter", "b": "fc", "metric": "score",
        "retriever": "toy-uniter", "order": "difference",
    }  # fmt: skip
    assert run.link(Coordinates("UNITER", "coco", "score", "UNITER"), "constructed") == ""
    assert run.link(Coordinates("UNITER", "coco", "score", "UNITER", "replacement"), "CE") == ""


def test_rows_of_the_scenes_papers_first_table_lead_to_their_captions_and_attention_nowhere():
    values = [measured_row("corpus", CAPTIONS, label, "CIDEr", (60.0, 55.0, 65.0), 9) for label in ("pretrained", "8")]
    run = scenes_run(values, labels={"vinvl": "pretrained", "scened@8": "8"})
    table = metrics_table(run, PROVENANCE)
    links = [state_of(c.link) for block in table.blocks for cells in block.rows for c in cells if c.link]
    shared = {"corpus": "corpus", "evaluation": "main", "metric": "CIDEr", "printed": "60.0 [55.0, 65.0]"}
    assert links == [{**shared, "a": "vinvl"}, {**shared, "a": "scened@8"}]
    assert run.link(run.place("attention", "pretrained", "deviation")) == ""


def test_the_evidence_of_a_claim_leads_to_both_captioners():
    paper = Reproduction(BLOCK, LINEAGE, Published("paper", {}))
    run = paper.run(summary(), [compared("tuned", "clipcap", "coco", "CIDEr", -36.0, 1.0)])
    claim = CaptionersClaim(
        "discritune", "c", "1", "s", "lower", 1.0, (), "finetuned", "parent", ["CIDEr"], ["COCO"]
    )  # fmt: skip
    table = claims_table([claim], {"discritune": Evidence([], lambda row: None, (paper, run))}, PROVENANCE, {})
    [[link]] = [links for block in table.blocks for cells in block.rows for cell in cells for links in cell.links]
    assert link.text == "captions"
    state = state_of(link.address)
    assert [state[name] for name in ("a", "b", "corpus", "metric", "order")] == [
        "tuned",
        "clipcap",
        "coco",
        "CIDEr",
        "difference",
    ]
