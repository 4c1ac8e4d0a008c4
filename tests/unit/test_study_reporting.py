"""Table 6 and Figures 2 and 3 from a study's tables: what they show, and that simulated participants are called so."""

import csv
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from PIL import Image
from study_stand_in import TYPES, study_screens, write_images

from captionlab.kinds import IMAGES
from captionlab.reporting.claims import claims_table, read_claims
from captionlab.reporting.language import Paper
from captionlab.reporting.published import read_published
from captionlab.reporting.render import Table, write_table_files
from captionlab.reporting.study import study_differences, study_table
from captionlab.reporting.study_figures import examples, plot_examples, plot_screen
from captionlab.study.analysis import Accuracies, agreement
from captionlab.study.responses import participants
from captionlab.tables import read_table
from captionlab.workflow.study import Study

PUBLISHED = Path(__file__).parents[2] / "config" / "published" / "discritune.csv"
STYLE = {"font_size": 8, "dots_per_inch": 50, "colours": ["#000000"]}
SCREENS = study_screens(controls=1)
SURE = {"set-0001", "set-0002", "set-0003"}
LABELS = {"Human captions": "people", "ClipCap-ConCap": "plain", "DiscriTune-ConCap": "tuned"}


def answers(people: int = 12, seed: int = 0) -> list[dict]:
    """People find images by tuned captions, seldom by others; those of the first three sets always so."""
    generator = np.random.default_rng(seed)
    rows = []
    for person in range(people):
        block = 1 + person % 3
        for s in SCREENS:
            if s["block"] != block:
                continue
            sure = s["stimulus"] in SURE
            chance = {"tuned": 1.0 if sure else 0.9, "plain": 0.0 if sure else 0.4}.get(s["caption_type"], 0.0)
            place = s["position"] if s["role"] == "control" or generator.random() < chance else s["position"] % 10 + 1
            rows.append(
                {
                    "participant": f"p{person}", **{k: s[k] for k in ("block", "question", "role", "stimulus")},
                    "caption_type": s["caption_type"], "chosen": s["images"][place - 1],
                    "correct": place == s["position"], "excluded": False, "source": "web",
                }
            )  # fmt: skip
    return rows


def table(who: str, rows: list[dict], comparable: bool = True, corpus: str = "concap") -> Table:
    accuracies = Accuracies(rows, seed=0)
    results = {
        "accuracy": accuracies.table(), "pairwise": accuracies.pairwise(), "agreement": agreement(rows, seed=0),
        "participants": participants(rows),
    }  # fmt: skip
    block = {"comparable": comparable, "captioners": LABELS, "corpora": {"ConCap": "concap"}}
    provenance = {"config": "test", "seed": 1, "commit": "abc"}
    paper = Paper(read_published(PUBLISHED), block)
    return study_table(who, results, ["people", "plain", "tuned"], corpus, paper, provenance)


def test_accuracy_stands_beside_the_papers(tmp_path):
    rows = answers()
    made = table("people", rows)
    [block] = made.blocks
    by_type = {row[0].text: row for row in block.rows}
    for name, published in (("people", "42.8"), ("plain", "36.2"), ("tuned", "47.6")):
        own = [row["correct"] for row in rows if row["caption_type"] == name and row["role"] == "question"]
        assert by_type[name][1].text == f"{100 * np.mean(own):.1f}"
        assert by_type[name][2].text.split()[0] == published
        assert by_type[name][3].text == str(len(own))
    # tuned minus plain, and the same the other way round
    difference = float(by_type["tuned"][5].text)
    assert difference == pytest.approx(float(by_type["tuned"][1].text) - float(by_type["plain"][1].text), abs=0.11)
    assert float(by_type["plain"][6].text) == -difference
    assert by_type["tuned"][6].text == ""
    write_table_files(made, [tmp_path / f"t.{ending}" for ending in ("csv", "md", "tex", "html")])
    with open(tmp_path / "t.csv", encoding="utf-8", newline="") as file:
        records = list(csv.DictReader(file))
    assert [r["verdict"] for r in records if r["quantity"] == "accuracy"] == [
        "cannot tell", "cannot tell", "differs",
    ]  # fmt: skip
    low, high = (float(records[0][name]) for name in ("ci_low", "ci_high"))
    smallest = 1.4294 * (high - low) / 2
    assert float(records[0]["smallest_difference"]) == pytest.approx(smallest, rel=1e-3)
    assert by_type["people"][2].detail == f"±{smallest:.1f}"
    assert {r["participants"] for r in records} == {"people"}


def test_simulated_participants_are_called_so_everywhere():
    made = table("simulated", answers())
    assert "simulated" in made.name
    assert "Simulated participants" in made.title
    assert "simulated participants" in made.description
    assert "No person took part" in made.footnotes[0]
    assert all(record["participants"] == "simulated" for record in made.records)
    # A retriever is never held against people.
    assert {record["verdict"] for record in made.records if record["quantity"] == "accuracy"} == {"not comparable"}


def test_other_images_are_not_comparable():
    made = table("people", answers(), corpus="flickr")
    assert {record["verdict"] for record in made.records if record["quantity"] == "accuracy"} == {"not comparable"}


def test_few_participants_and_missing_types_are_noted():
    made = table("people", [row for row in answers(3) if row["caption_type"] != "plain"])
    assert any("Only 3 people count" in note for note in made.footnotes)
    assert next(row for row in made.blocks[0].rows if row[0].text == "plain")[1].note.startswith("Nobody")


def test_examples_are_found_by_one_type_only():
    rows = answers()
    chosen = examples(SCREENS, rows)
    assert {e["target"] for e in chosen[:3]} == {s["target"] for s in SCREENS if s["stimulus"] in SURE}
    leads = []
    for example in chosen:
        shares = {name: example["right"][name] / example["answers"][name] for name in TYPES}
        second, first = sorted(shares.values())[-2:]
        leads.append(first - second)
        best = next(name for name in TYPES if shares[name] == first)
        wrong = {r["chosen"] for r in rows if not r["correct"] and r["caption_type"] != best}
        assert example["chosen"] in wrong - {example["target"]}
        assert set(example["captions"]) == set(TYPES)
    assert leads == sorted(leads, reverse=True)
    assert leads[:3] == [1, 1, 1]
    assert min(leads) > 0


def test_without_a_type_that_leads_there_is_no_example():
    rows = answers()
    assert examples(SCREENS, [row | {"correct": True} for row in rows]) == []
    assert examples(SCREENS, [row for row in rows if row["caption_type"] == "tuned"]) == []


def test_figures(tmp_path):
    write_images(tmp_path / "images.parquet", sorted({image for s in SCREENS for image in s["images"]}))
    images = read_table(tmp_path / "images.parquet", IMAGES, ["image_id", "path", "data"])
    chosen = examples(SCREENS, answers())
    plot_examples(chosen, images, True, STYLE, str(tmp_path / "some.png"))
    plot_examples([], images, False, STYLE, str(tmp_path / "none.png"))
    # Three images and more of green frame are in the one and not in the other.
    green = {name: count_green(tmp_path / f"{name}.png") for name in ("some", "none")}
    assert green["some"] > 100
    assert green["none"] == 0
    plot_screen(SCREENS[0], images, STYLE, str(tmp_path / "screen.png"))
    assert Image.open(tmp_path / "screen.png").size[0] == 400


def count_green(path: Path) -> int:
    pixels = np.asarray(Image.open(path).convert("RGB")).astype(int)
    return int((np.abs(pixels - (0x2F, 0x7D, 0x32)).sum(axis=2) < 40).sum())


def people_claim(differences: list[dict]) -> dict:
    """How the claim about people is judged by these differences."""
    claims = read_claims(PUBLISHED.with_name("claims.yaml"))
    records = claims_table(claims, {}, {"config": "test", "seed": 1}, {"discritune": differences}).records
    (record,) = (record for record in records if record["claim"] == "people-find-images-by-finetuned-captions")
    return record


def test_the_claim_about_people_is_judged_by_both_differences():
    accuracies = Accuracies(answers(), seed=0)
    record = people_claim(study_differences(accuracies.table(), accuracies.pairwise(), LABELS))
    assert (record["verdict"], record["comparisons"], record["as_claimed"]) == ("holds", 2, 2)
    assert "against Human captions +" in record["evidence"]
    assert "against ClipCap-ConCap +" in record["evidence"]
    renamed = {"DiscriTune-ConCap": "people", "ClipCap-ConCap": "plain", "Human captions": "tuned"}
    record = people_claim(study_differences(accuracies.table(), accuracies.pairwise(), renamed))
    assert record["verdict"] == "does not hold"
    assert people_claim([])["verdict"] == "not tested in this run"


def test_a_difference_is_the_same_either_way_round():
    accuracies = Accuracies(answers(), seed=0)
    rows = {
        (row["subject"], row["against"]): row
        for row in study_differences(accuracies.table(), accuracies.pairwise(), LABELS)
    }
    assert len(rows) == 6
    for (name, other), row in rows.items():
        back = rows[other, name]
        assert (row["difference"], row["ci_low"], row["ci_high"]) == (
            -back["difference"], -back["ci_high"], -back["ci_low"]
        )  # fmt: skip
    assert {row["n"] for row in rows.values()} == {len({s["stimulus"] for s in SCREENS if s["role"] == "question"})}


@pytest.mark.parametrize(
    ("study", "judged"),
    [({"simulated": {"retriever": "clip"}}, []), ({"responses": ["a.csv"]}, ["accuracy", "pairwise"])],
)
def test_simulated_participants_never_judge_a_claim_about_people(study, judged):
    assert list(Study(SimpleNamespace(config={"study": study})).of_people()) == judged
