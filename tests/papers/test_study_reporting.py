"""Table 6 and Figures 2 and 3 from a study's tables: what they show, and that simulated participants are called so."""

import csv
from functools import partial

import numpy as np
import pyarrow as pa
import pytest
from matplotlib.colors import to_rgba
from support.figure_checks import STYLE, assert_readable, drawn
from support.paper_jobs import PAPERS, judged
from support.paper_jobs import published as published_of
from support.study_stand_in import study_screens, write_images

from captionlab.images.locations import LOCATION
from captionlab.papers.discritune.figures import RIGHT, draw_examples, draw_screen, examples
from captionlab.papers.discritune.study import study_differences, study_table
from captionlab.reporting.claims.claims import read_claims
from captionlab.reporting.runs.reproduction import Reproduction
from captionlab.reporting.tables.formats.files import write_table_files
from captionlab.reporting.tables.render import Table
from captionlab.storage.schemas import IMAGES
from captionlab.storage.tables import read_table
from captionlab.study.analysis import Accuracies, agreement
from captionlab.study.psychopy import quoted
from captionlab.study.responses import participants

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
    paper = Reproduction(block, published=published_of("discritune"))
    return study_table(who, results, ["people", "plain", "tuned"], corpus, paper, provenance)


def test_accuracy_stands_beside_the_papers(tmp_path):
    rows = answers()
    made = table("people", rows)
    [block] = made.blocks
    # Rows and differences have the paper's labels.
    assert [row[0].text for row in block.rows] == list(LABELS)
    assert [column.heading for column in made.columns[4:7]] == [f"minus {label}" for label in LABELS]
    by_type = {LABELS[row[0].text]: row for row in block.rows}
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
    number = len({row["stimulus"] for row in rows if row["role"] == "question"})
    of_sets = [(r["value"], r["published"], r["verdict"]) for r in records if r["quantity"] == "sets"]
    assert of_sets == [(str(number), "500", "differs")] * 3
    assert by_type["plain"][3].detail.endswith(f"on {number} sets (paper 500 ≠)")


def test_the_marker_of_the_sets_is_explained_where_no_accuracy_has_it():
    """As many answers of ClipCap's captions as do not tell 36.2 from what else there may be, on fewer than 500 sets."""
    made = table("people", [row for row in answers() if row["caption_type"] == "plain" or row["role"] == "control"])
    verdicts = {name: {r["verdict"] for r in made.records if r["quantity"] == name} for name in ("accuracy", "sets")}
    assert verdicts == {"accuracy": {"cannot tell"}, "sets": {"differs"}}
    assert any("≠" in note for note in made.footnotes)


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
    assert next(row for row in made.blocks[0].rows if row[0].text == "ClipCap-ConCap")[1].note.startswith("Nobody")


TUNED = {"tuned": "plain"}


def test_examples_are_found_by_the_finetuned_caption_only():
    rows = answers()
    chosen = examples(SCREENS, rows, "people", TUNED, number=100)
    expected, shares = {}, {}
    for screen in (s for s in SCREENS if s["role"] == "question"):
        given = [
            a["correct"]
            for a in rows
            if (a["stimulus"], a["caption_type"]) == (screen["stimulus"], screen["caption_type"])
        ]
        expected[screen["target"], screen["caption_type"]] = (sum(given), len(given), screen["caption"])
        shares[screen["target"], screen["caption_type"]] = np.mean(given)
    targets = {target for target, _ in shares}
    found = {t for t in targets if shares[t, "tuned"] > 0.5 and max(shares[t, "plain"], shares[t, "people"]) < 0.5}
    assert {example["target"] for example in chosen} == found
    assert {s["target"] for s in SCREENS if s["stimulus"] in SURE} <= found
    leads = []
    for example in chosen:
        target = example["target"]
        told = {n: (example["right"][n], example["answers"][n], example["captions"][n]) for n in example["captions"]}
        assert told == {name: expected[target, name] for name in ("people", "plain", "tuned")}
        assert list(told) == ["people", "plain", "tuned"]
        (stimulus,) = {s["stimulus"] for s in SCREENS if s["target"] == target}
        by_human = [a["chosen"] for a in rows if (a["stimulus"], a["caption_type"]) == (stimulus, "people")]
        assert by_human.count(example["chosen"]) == max(by_human.count(other) for other in {*by_human} - {target})
        leads.append(shares[target, "tuned"] - max(shares[target, "plain"], shares[target, "people"]))
    assert leads == sorted(leads, reverse=True)


@pytest.mark.parametrize("also", ["plain", "people"])
def test_what_another_caption_finds_too_is_no_example(also):
    rows = [row | {"correct": True} if row["caption_type"] == also else row for row in answers()]
    assert examples(SCREENS, rows, "people", TUNED) == []


@pytest.mark.parametrize("other", ["plain", "people"])
def test_the_same_words_are_no_example_of_a_difference(other):
    tuned = {s["stimulus"]: s["caption"] for s in SCREENS if s["caption_type"] == "tuned"}
    target = next(s["target"] for s in SCREENS if s["stimulus"] == "set-0001")
    same = [
        s | {"caption": tuned[s["stimulus"]]} if (s["stimulus"], s["caption_type"]) == ("set-0001", other) else s
        for s in SCREENS
    ]
    rows = answers()
    targets = {example["target"] for example in examples(SCREENS, rows, "people", TUNED, number=100)}
    assert target in targets
    chosen = examples(same, rows, "people", TUNED, number=100)
    assert {example["target"] for example in chosen} == targets - {target}


def test_half_of_the_answers_do_not_find_an_image():
    """Two answers to each screen: those by the finetuned caption are right once, so the target is not found."""
    rows = [row for row in answers(6) if row["role"] == "question"]
    people = sorted({row["participant"] for row in rows if row["caption_type"] == "tuned"})
    once = [row | {"correct": row["caption_type"] == "tuned" and row["participant"] in people[:3]} for row in rows]
    assert {len([r for r in rows if (r["stimulus"], r["caption_type"]) == ("set-0001", "tuned")])} == {2}
    assert examples(SCREENS, once, "people", TUNED) == []
    always = [row | {"correct": row["caption_type"] == "tuned"} for row in rows]
    assert len(examples(SCREENS, always, "people", TUNED, number=100)) == 6


@pytest.mark.parametrize(
    ("tuned", "plain", "people", "found"),
    [
        ("1", "0", "0", True),
        ("11", "00", "00", True),
        ("10", "00", "00", False),  # ties of two
        ("11", "10", "00", False),
        ("11", "00", "01", False),
        ("110", "100", "001", True),  # the narrowest of three
        ("110", "110", "001", False),
        ("100", "000", "000", False),
        ("1", "0", "1100", False),  # a tie of four
        ("1", "0", "1000", True),
    ],
)
def test_found_is_by_most_answers_and_not_found_by_fewest(tuned, plain, people, found):
    screens = [s for s in SCREENS if (s["role"], s["stimulus"]) == ("question", "set-0001")]
    (target,) = {s["target"] for s in screens}
    rows = [
        {
            "role": "question", "excluded": False, "stimulus": "set-0001", "caption_type": name,
            "correct": right == "1", "chosen": target if right == "1" else "another",
        }
        for name, answers_to_it in (("tuned", tuned), ("plain", plain), ("people", people))
        for right in answers_to_it
    ]  # fmt: skip
    chosen = examples(screens, rows, "people", TUNED)
    assert [example["target"] for example in chosen] == [target] * found


def test_without_a_finetuned_caption_there_is_no_example():
    rows = answers()
    assert examples(SCREENS, rows, "people", {}) == []
    assert examples(SCREENS, [row for row in rows if row["caption_type"] == "tuned"], "people", TUNED) == []


@pytest.mark.parametrize("width", ["page", "column"])
def test_figure_2_has_pairs_with_captions_below(tmp_path, width):
    write_images(tmp_path / "images.parquet", sorted({image for s in SCREENS for image in s["images"]}))
    images = read_table(tmp_path / "images.parquet", IMAGES, ["image_id", *LOCATION])
    names = {"people": "Human captions", "plain": "ClipCap", "tuned": "DiscriTune"}
    chosen = examples(SCREENS, answers(), "people", TUNED)
    figure = drawn(partial(draw_examples, chosen, images, names, True, STYLE), width)
    assert_readable(figure, width)
    (axis,) = figure.axes
    assert [frame.get_edgecolor() for frame in axis.patches] == [to_rgba(RIGHT)] * len(chosen)
    assert len(axis.images) == 2 * len(chosen)
    for target, choice in batched(axis.images):
        (x0, x1, below, _), (other, *_, level, _) = target.get_extent(), choice.get_extent()
        assert x0 < x1 < other  # the target stands on the left
        assert below == level
        assert min(text.get_position()[1] for text in axis.texts if text.get_text() == "H:") > 0
    said = [text.get_text() for text in axis.texts]
    assert [letter for letter in said if letter in ("H:", "C:", "D:")] == ["H:", "C:", "D:"] * len(chosen)
    assert said.count("choice by H") == len(chosen)
    heads = [text for text in said if text.endswith(" target")]
    assert heads == [f"({letter}) target" for letter in "abcdef"[: len(chosen)]]
    whole = " ".join(said)
    for example in chosen:
        for name, caption in example["captions"].items():
            assert caption.split()[0] in whole
            assert f"({example['right'][name]} of {example['answers'][name]} right)" in whole
    assert "H: Human captions; C: ClipCap; D: DiscriTune. Answers are those of simulated participants" in whole
    bottoms = [image.get_extent()[2] for image in axis.images]
    assert all(text.get_position()[1] > min(bottoms) for text in axis.texts if text.get_text() == "D:")


def batched(images):
    """Images two by two."""
    return zip(images[::2], images[1::2], strict=True)


def test_captions_whose_labels_begin_alike_are_called_by_all_of_it(tmp_path):
    write_images(tmp_path / "images.parquet", sorted({image for s in SCREENS for image in s["images"]}))
    images = read_table(tmp_path / "images.parquet", IMAGES, ["image_id", *LOCATION])
    chosen = examples(SCREENS, answers(), "people", TUNED)
    figure = drawn(partial(draw_examples, chosen, images, {"plain": "B one", "tuned": "B two"}, False, STYLE))
    whole = " ".join(text.get_text() for text in figure.axes[0].texts)
    assert all(label in whole for label in ("people:", "B one:", "B two:", "choice by people", "those of people."))


def test_figure_2_says_so_where_there_is_no_example():
    figure = drawn(partial(draw_examples, [], pa.table({"image_id": pa.array([], pa.string())}), {}, True, STYLE))
    (text,) = figure.axes[0].texts
    assert text.get_text().startswith("In no set of images is the target found by the finetuned caption only")
    assert not figure.axes[0].patches


@pytest.mark.parametrize("width", ["page", "column"])
def test_figure_3_is_a_screen(tmp_path, width):
    write_images(tmp_path / "images.parquet", sorted({image for s in SCREENS for image in s["images"]}))
    images = read_table(tmp_path / "images.parquet", IMAGES, ["image_id", *LOCATION])
    figure = drawn(partial(draw_screen, SCREENS[0], images, STYLE), width)
    assert_readable(figure, width)
    tops = [image.get_extent()[3] for image in figure.axes[0].images]
    assert tops == [tops[0]] * 5 + [tops[5]] * 5
    assert tops[0] < tops[5]
    assert " ".join(text.get_text() for text in figure.axes[0].texts) == quoted(SCREENS[0]["caption"])


def people_claims(differences: list[dict], claim: str) -> list[dict]:
    """How a claim about people is judged by these differences."""
    claims = read_claims(PAPERS / "discritune" / "claims.yaml", "discritune")
    return [record for record in judged(claims, differences).records if record["claim"] == claim]


def people_claim(differences: list[dict]) -> dict:
    """The same of the claim about finetuned captions."""
    (record,) = people_claims(differences, "people-find-images-by-finetuned-captions")
    return record


def test_people_are_held_against_chance_and_one_half():
    accuracies = Accuracies(answers(), seed=0)
    rows = study_differences(accuracies.table(), accuracies.pairwise(), LABELS)
    by_type = {row["caption_type"]: row for row in accuracies.table()}
    for bound, share in (("chance", 10.0), ("half of the answers", 50.0)):
        for row in (row for row in rows if row["against"] == bound):
            ours = by_type[LABELS[row["subject"]]]
            ends = [ours[name] - share for name in ("value", "ci_low", "ci_high")]
            assert [row["difference"], row["ci_low"], row["ci_high"]] == ends
            assert row["n"] == ours["stimuli"]
    # Nobody finds an image by human captions here, but six sets are few; nearly everybody does by the finetuned ones.
    above = {record["scope"]: record["verdict"] for record in people_claims(rows, "people-are-above-chance")}
    assert (above["Human captions"], above["DiscriTune-ConCap"]) == ("cannot tell", "holds")
    below = {record["scope"]: record["verdict"] for record in people_claims(rows, "people-find-less-than-half")}
    assert (below["Human captions"], below["DiscriTune-ConCap"]) == ("holds", "does not hold")


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
        if row["against"] in LABELS
    }
    assert len(rows) == 6
    for (name, other), row in rows.items():
        back = rows[other, name]
        assert (row["difference"], row["ci_low"], row["ci_high"]) == (
            -back["difference"], -back["ci_high"], -back["ci_low"]
        )  # fmt: skip
    assert {row["n"] for row in rows.values()} == {len({s["stimulus"] for s in SCREENS if s["role"] == "question"})}


FINETUNED = {
    "corpus": "world",
    "objective": {"kind": "cross-entropy"},
    "optimizer": {"kind": "adam", "lr": 1.0e-3, "batch": 4, "steps": 2},
}
CONFIG = {
    "seed": 1,
    "spice": "off",
    "corpora": {"world": {"reader": "toyworld", "domain": "concap", "seed": 1, "images": {"train": 8, "test": 8}}},
    "encoders": {"clip": {"family": "clip", "weights": "clip.pt"}},
    "captioners": {
        "plain": {"family": "clipcap", "encoder": "clip", "weights": "plain.pt", "tokenizer": "plain.json"},
        "tuned": {"parent": "plain", **FINETUNED},
        "two": {"parent": "tuned", **FINETUNED},
        "people": {"family": "human"},
    },
    "decodings": {"greedy": {"kind": "greedy", "max_tokens": 10}},
    "evaluations": {
        "main": {"captioners": ["plain", "tuned", "two", "people"], "corpora": ["world"], "decoding": "greedy"}
    },
    "papers": {
        "discritune": {"comparable": False, "captioners": {"ClipCap-ConCap": "plain"}, "corpora": {"ConCap": "world"}}
    },
}
STUDY = {"corpus": "world", "evaluation": "main", "encoder": "clip", "sets": 4, "block": 2}
SIMULATED, PEOPLE = {"simulated": {"retriever": "clip", "participants": 6}}, {"responses": ["a.csv"]}


@pytest.mark.parametrize(
    ("captioners", "expected"),
    [
        (["people", "plain", "tuned"], {"tuned": "plain"}),
        (["people", "tuned"], {}),
        (["people", "tuned", "plain", "two"], {"tuned": "plain", "two": "tuned"}),
    ],
)
def test_which_captions_are_finetuned_is_in_the_config(planned, captioners, expected):
    plan = planned({**CONFIG, "study": {**STUDY, **SIMULATED, "captioners": captioners}})
    assert plan.job("plot_discritune").params["parents"] == expected


@pytest.mark.parametrize(
    ("responses", "expected"),
    [
        (SIMULATED, set()),
        (PEOPLE, {"accuracy", "pairwise"}),
        ({**SIMULATED, **PEOPLE}, {"accuracy", "pairwise"}),
    ],
)
def test_simulated_participants_never_judge_a_claim_about_people(planned, responses, expected):
    plan = planned({**CONFIG, "study": {**STUDY, **responses, "captioners": ["people", "plain", "tuned"]}})
    inputs = plan.job("check_claims").inputs
    found = {name: path for name, path in inputs.items() if name.startswith("discritune_study")}
    assert found == {f"discritune_study_{table}": [f"results/study/people/{table}.parquet"] for table in expected}
