"""Validity: who names what is there, what is met at the edge, and what a run has that lacks half of it."""

import csv
import json
import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from support.interval_ranges import intervals_outside
from support.plans import config_of, plan
from support.reporting_run import retrieved
from support.running import load_script

from captionlab.config.whole import ConfigError, checked
from captionlab.corpora.toyworld.lexicon import NOUNS
from captionlab.evaluation.naming import different, names_any, names_of, relative_naming
from captionlab.evaluation.unknown_words import has_unknown, known_words, non_words, share_of
from captionlab.graph.graph import Graph
from captionlab.reporting.claims.validity import (
    CONDITIONS,
    Finding,
    matching_findings,
    participants_findings,
    power_findings,
    power_notes,
    retrieval_findings,
    reward_findings,
    validity_table,
)
from captionlab.reporting.tables.formats.csv import csv_text
from captionlab.reporting.tables.formats.html import html
from captionlab.reporting.tables.formats.markdown import markdown
from captionlab.reporting.tables.rewards import Change
from captionlab.scorers.schemas import MATCHING
from captionlab.storage.schemas import CAPTIONS, GENERATED, OBJECTS, REWARDS, SUMMARY
from captionlab.storage.tables import write_table
from captionlab.study.schemas import ACCURACY

ROOT = Path(__file__).parents[2]
PROVENANCE = {"config": "made-up", "seed": 7, "commit": "abc"}


# ------------------------------------------------------------------------------------------------------- naming
def test_names_of_objects():
    assert names_of("wine glass", toyworld=True) == {"wine glass", "wine glasses", "glass of wine", "glasses of wine"}
    assert names_of("fish", toyworld=True) == {"fish"}
    assert all(names_of(label, toyworld=True) for label in NOUNS)
    plurals = {"bench": "benches", "knife": "knifes", "bus": "buses", "teddy": "teddies", "Toy": "toys"}
    plurals["wine glass"] = "wine glasses"
    for label, plural in plurals.items():
        assert names_of(label, toyworld=False) == {label.lower(), plural}
    with pytest.raises(ValueError, match="no nouns for the label 'zebra'"):
        names_of("zebra", toyworld=True)


@pytest.mark.parametrize(
    ("caption", "names", "expected"),
    [
        ("A man with a Wine-Glass.", {"wine glass"}, True),
        ("a carpet.", {"car", "cars"}, False),
        ("two cars.", {"car", "cars"}, True),
        ("car", {"car"}, True),
        ("a glass, wine beside it", {"wine glass"}, False),
        ("a car", (), False),
        ("", {"car"}, False),
    ],
)
def test_whole_words_are_names(caption, names, expected):
    assert names_any(caption, names) is expected


def naive_share(captions, names):
    """The share of captions that name an object, word by word."""
    hits = 0
    for image, caption in captions:
        found = [word.strip(".,").lower() for word in caption.split()]
        hit = False
        for name in names.get(image, ()):
            wanted = name.split()
            for start in range(len(found)):
                hit = hit or found[start : start + len(wanted)] == wanted
        hits += hit
    return hits / len(captions)


def test_relative_naming_is_that_of_a_naive_loop():
    random = np.random.default_rng(3)
    nouns = ["dog", "cat", "wine glass", "car", "lamp"]
    images = [f"i{number}" for number in range(40)]
    names = {image: set(random.choice(nouns, 2, replace=False)) for image in images[:-3]}  # three have no objects
    captions = [(image, f"a {random.choice(nouns)} outside.") for image in images]
    references = [(image, f"the {random.choice(nouns)}, here.") for image in images for _ in range(3)]
    others = [("elsewhere", "a dog."), ("i99", "a cat.")]  # of images that nobody captioned
    value, (low, high), number = relative_naming(captions, references + others, names, seed=1)
    assert value == pytest.approx(naive_share(captions, names) / naive_share(references, names))
    assert low < value < high
    assert number == 40
    # Resampling images one by one, with their captions and references.
    drawn = []
    for _ in range(1000):
        chosen = random.choice(images, len(images))
        ours = [pair for image in chosen for pair in captions if pair[0] == image]
        theirs = [pair for image in chosen for pair in references if pair[0] == image]
        drawn.append(naive_share(ours, names) / naive_share(theirs, names))
    assert (low, high) == pytest.approx(tuple(np.quantile(drawn, [0.025, 0.975])), abs=0.08)


def test_naming_where_nothing_varies_or_nothing_is_named():
    captions = [(f"i{number}", "a dog.") for number in range(20)]
    names = {image: {"dog"} for image, _ in captions}
    value, (low, high), _ = relative_naming(captions, captions, names, seed=1)
    assert (value, high) == (1.0, 1.0)
    assert low < 0.9
    assert relative_naming(captions, [(image, "a cat.") for image, _ in captions], names, seed=1) is None
    assert relative_naming(captions, captions, {}, seed=1) is None
    assert relative_naming([], captions, names, seed=1) is None


def test_captions_are_different_by_their_words():
    assert different(["A dog.", "a dog", "a dog outside.", "dog a"]) == 3


# ------------------------------------------------------------------------------------------------ unknown words
def test_words_that_no_caption_has():
    known = known_words(["A man's close-up.", "don't run"])
    assert non_words("a mans closeup dont blorf UNK [UNK] blorf", known) == ["blorf", "blorf"]
    assert non_words("a man s close up", known) == []
    assert non_words("unk", known) == ["unk"]  # in lower case it is a word like others
    assert [has_unknown(text) for text in ("a UNK dog", "[UNK] dog", "UNKNOWN dog", "unk")] == [
        True,
        True,
        False,
        False,
    ]


def test_share_of_captions_with_its_interval():
    share, (low, high) = share_of([True, False, False, False], ["a", "a", "b", "c"], seed=1)
    assert share == 0.25
    assert low < 0.25 < high
    share, (low, high) = share_of([False] * 100, [str(number) for number in range(100)], seed=1)
    assert (share, low) == (0.0, 0.0)
    assert high == pytest.approx(1 - 0.025 ** (1 / 100))  # Clopper and Pearson of none of a hundred


# --------------------------------------------------------------------------------------------------- conditions
@pytest.mark.parametrize(
    ("condition", "met", "not_met"),
    [
        ("retrieval", 70.0, 69.9),
        ("independent retrieval", 60.0, 59.9),
        ("naming", 0.8, 0.79),
        ("variety", 0.5, 0.49),
        ("reward", 0.001, 0.0),
        ("variety after reward", 1 / 3, 0.333),
        ("participants", 25.0, 24.9),
        ("strangers", 90.0, 89.9),
        ("look-alikes", 75.0, 74.9),
        ("unknown", 1.9, 2.0),
        ("non-words", 0.0, 0.1),
        ("power", 2.0, 1.99),
    ],
)
def test_each_condition_at_its_edge(condition, met, not_met):
    findings = [Finding(condition, name, value, None, 10, "images") for name, value in (("a", met), ("b", not_met))]
    table = validity_table(findings, [], PROVENANCE)
    assert [row[-1].text for row in table.blocks[0].rows] == ["yes", "no"]
    assert [record["met"] for record in table.records] == [True, False]
    assert table.description.startswith("1 of 2 conditions of validity are met. ")
    assert sum(note.startswith("Not in this run") for note in table.footnotes) == len(CONDITIONS) - 1


def test_who_rewards_must_find_more():
    rows = [
        retrieved("people", "coco", 65.0, "clip-a"),
        retrieved("people", "coco", 65.0, "clip-b"),
        retrieved("people", "coco", 20.0, "clip-a", candidates="full"),
        retrieved("people", "coco", 90.0, "clip-a", candidates="10 set"),
        {**retrieved("people", "coco", 90.0, "clip-a"), "metric": "R@5"},
        retrieved("people", "flickr", 90.0, "clip-a"),
        retrieved("clipcap", "coco", 90.0, "clip-a"),
    ]
    table = validity_table(list(retrieval_findings(rows, "coco", ["people"], ["clip-a"])), [], PROVENANCE)
    found = [(record["of"], record["wanted"], record["met"]) for record in table.records]
    assert found == [("clip-a", 70, False), ("clip-b", 60, True)]


def change(**others):
    measured = {
        "before": 0.4, "after": 0.5, "value": 0.1, "ends": (0.05, 0.15), "n": 50, "commonest": 0.3,
        "found_before": None, "found_after": None, "different_before": 30, "different_after": 12,
        "words_before": 8.0, "words_after": 9.0,
    }  # fmt: skip
    return Change(**{**measured, **others})


def test_a_reward_must_rise_by_its_whole_interval():
    changes = {"higher": change(), "perhaps": change(ends=(-0.01, 0.21)), "lower": change(value=-0.1, ends=(-0.2, 0.0))}
    table = validity_table(list(reward_findings(changes, dict.fromkeys(changes, "coco"))), [], PROVENANCE)
    met = {row["of"]: row["met"] for row in table.records if row["condition"] == "reward"}
    assert met == {"higher": True, "perhaps": False, "lower": False}


def test_fewer_captions_are_met_where_the_reward_prefers_fewer():
    few = {"different_before": 30, "different_after": 9}
    changes = {"third": change(), "few": change(**few), "preferred": change(**few, commonest=0.4)}
    table = validity_table(list(reward_findings(changes, dict.fromkeys(changes, "coco"))), [], PROVENANCE)
    rows = {row["of"]: row for row in table.records if row["condition"] == "variety after reward"}
    assert {name: (row["value"], row["met"]) for name, row in rows.items()} == {
        "third": (0.4, True), "few": (0.3, False), "preferred": (0.3, True)
    }  # fmt: skip
    assert rows["few"]["detail"] == "9 : 30"
    assert rows["preferred"]["detail"] == "9 : 30, the reward prefers fewer"


def test_what_central_claims_could_have_shown():
    claims = [
        {"paper": "discritune", "claim": "in-domain", "central": "it says so", "power": "2.5", "printed": "4"},
        {"paper": "discritune", "claim": "in-domain", "central": "it says so", "power": "2.5", "printed": "4"},
        {"paper": "probing", "claim": "pattern", "central": "it says so", "power": "1.5", "printed": "2"},
        {"paper": "probing", "claim": "figure", "central": "it says so", "power": "", "printed": "0"},
        {"paper": "probing", "claim": "aside", "central": "", "power": "", "printed": ""},
    ]
    table = validity_table(list(power_findings(claims)), list(power_notes(claims)), PROVENANCE)
    assert [(row["of"], row["value"], row["n"], row["met"]) for row in table.records] == [
        ("discritune: in-domain", 2.5, 4, True),
        ("probing: pattern", 1.5, 2, False),
    ]
    (note,) = [note for note in table.footnotes if "the paper prints too" in note]
    assert note.endswith(": probing: figure.")


def matching_rows(random: float, hard: float):
    return [
        {"split": "test", "negatives": negatives, "measure": measure, "value": value + shift,
         "ci_low": value + shift - 0.01, "ci_high": value + shift + 0.01, "n": 300}
        for negatives, value in (("random", random), ("hard", hard))
        for measure, shift in (("accuracy", 0.0), ("ranking", 0.05))
    ]  # fmt: skip


def accuracy_rows(human: float, other: float):
    rest = {"answers": 200, "participants": 20, "stimuli": 50}
    return [
        {"caption_type": name, "value": value, "ci_low": value - 5, "ci_high": value + 5, **rest}
        for name, value in (("human", human), ("tuned", other))
    ]


def test_participants_and_scorers():
    answers = {"people": accuracy_rows(42.8, 10.0), "simulated": accuracy_rows(15.0, 90.0)}
    findings = [
        *participants_findings(answers, "human"),
        *matching_findings({"uniter": matching_rows(0.91, 0.74), "rosita": matching_rows(0.89, 0.8)}),
    ]
    table = validity_table(findings, [], PROVENANCE)
    assert [(r["condition"], r["of"], round(r["value"], 6), r["met"]) for r in table.records] == [
        ("participants", "people", 42.8, True),
        ("participants", "simulated", 15.0, False),
        ("strangers", "uniter", 91.0, True),
        ("strangers", "rosita", 89.0, False),
        ("look-alikes", "uniter", 74.0, False),
        ("look-alikes", "rosita", 80.0, True),
    ]
    assert table.records[2]["ci_low"] == pytest.approx(90.0)


def test_the_table_in_its_formats():
    findings = [Finding("naming", "base", 0.75, (0.7, 0.81), 9, "images", "coco", "main", "3 : 4")]
    table = validity_table(findings, ["a note"], PROVENANCE)
    assert "| base coco, main | 0.75 [0.70, 0.81] 3 : 4 | ≥ 0.8 | 9 images | no |" in markdown(table)
    assert "- a note\n" in markdown(table)
    assert "≥ 0.8" in html(table)
    (record,) = csv.DictReader(csv_text(table).splitlines())
    assert (record["condition"], record["ci_high"], record["met"]) == ("naming", "0.81", "False")
    assert (record["config"], record["seed"], record["commit"]) == ("made-up", "7", "abc")


# --------------------------------------------------------------------------------------------------- the script
def write_rows(path: Path, kind, rows) -> str:
    write_table(path, kind, {name: [row.get(name) for row in rows] for name in kind.columns})
    return str(path)


IMAGES = [f"i{number}" for number in range(8)]
REFERENCES = [
    {"image_id": image, "caption_index": index, "caption": f"{text} {image}."}
    for image in [*IMAGES, "train"]
    for index, text in enumerate(("a dog beside", "two cars and"))
]


def captions_of(texts, corpus="coco"):
    return [
        {"corpus": corpus, "image_id": image, "caption_index": 0, "caption": text}
        for image, text in zip(IMAGES, texts, strict=True)
    ]


def job(folder: Path, objects, **changes):
    """A run of two captioners that learned `coco`, and one that was finetuned by a reward."""
    captions = {
        "base": ["a dog"] * 4 + ["two cars", "a lamp", "a lamp", "blorf"],
        "fc": ["a UNK dog"] * 8,
        "tuned": ["a dog zzz", "a xyzzy zzz", *["a dog"] * 6],
    }
    inputs = {
        "summary": write_rows(folder / "summary.parquet", SUMMARY, [retrieved("people", "coco", 80.0)]),
        "captions": [
            write_rows(folder / "captions" / name / "main.parquet", GENERATED, captions_of(texts))
            for name, texts in captions.items()
        ],
        "references": [
            write_rows(folder / "corpora" / "coco" / "captions.parquet", CAPTIONS, REFERENCES),
            write_rows(
                folder / "corpora" / "lamps" / "captions.parquet",
                CAPTIONS,
                [{"image_id": "a", "caption_index": 0, "caption": "a lamp"}],
            ),
        ],
        "objects": [write_rows(folder / "corpora" / "coco" / "objects.parquet", OBJECTS, objects)],
        "matching": [],
        "accuracy": [],
        "rewards": [],
        "claims": [],
        **changes,
    }
    params = {
        "corpus": "coco", "humans": ["people"], "rewarding": ["clip-a"], "learned": {"base": "coco", "fc": "coco"},
        "scorers": [], "rewarded": {"tuned": "coco"}, "toyworld": [], "study_human": None, "seed": 1,
        "provenance": {"config": "made-up", "seed": 7},
    }  # fmt: skip
    tables = [str(folder / f"validity.{ending}") for ending in ("csv", "md", "html")]
    return SimpleNamespace(
        input=SimpleNamespace(**inputs), params=SimpleNamespace(**params), output=SimpleNamespace(tables=tables)
    )


def reward_rows():
    """Ten images that get ten captions before, and three after, which all earn more."""
    captions = {
        "before": [(f"a dog {number}", 0.1) for number in range(10)],
        "after": [(f"a cat {number % 3}", 0.2 + number / 100) for number in range(10)],
        "commonest": [("a cat 0", 0.0)] * 10,
    }
    return [
        {"captions": name, "image_id": f"i{number}", "caption": caption, "reward": reward}
        for name, of_name in captions.items()
        for number, (caption, reward) in enumerate(of_name)
    ]


def of(images, *labels):
    box = {"x1": 0.0, "y1": 0.0, "x2": 1.0, "y2": 1.0, "attributes": []}
    return [
        {"image_id": image, "object_index": index, "label": label, **box}
        for image in images
        for index, label in enumerate(labels)
    ]


def records(folder: Path):
    with open(folder / "validity.csv", encoding="utf-8", newline="") as file:
        return {(row["condition"], row["of"]): row for row in csv.DictReader(file)}


def test_the_script_on_a_whole_run(tmp_path):
    changes = {
        "matching": [
            write_rows(tmp_path / "scorers" / "uniter" / "matching.parquet", MATCHING, matching_rows(0.9, 0.7))
        ],
        "accuracy": [write_rows(tmp_path / "study" / "simulated" / "accuracy.parquet", ACCURACY, accuracy_rows(30, 1))],
        "rewards": [write_rows(tmp_path / "captioners" / "tuned" / "rewards.parquet", REWARDS, reward_rows())],
        "claims": [str(tmp_path / "claims.csv")],
    }
    (tmp_path / "claims.csv").write_text("paper,claim,central,power,printed\npaper,first,said,2.5,3\n")
    run = job(tmp_path, of(IMAGES, "dog", "car"), **changes)
    run.params.study_human, run.params.scorers = "human", ["uniter"]
    load_script("measure_validity").main(run)
    found = records(tmp_path)
    assert [(*key, row["met"]) for key, row in found.items()] == [
        ("retrieval", "clip-a", "True"),
        ("naming", "base", "False"),  # five of eight, where people name one in every caption
        ("naming", "fc", "True"),
        ("variety", "base", "True"),
        ("variety", "fc", "False"),
        ("reward", "tuned", "True"),
        ("variety after reward", "tuned", "False"),
        ("participants", "simulated", "True"),
        ("strangers", "uniter", "True"),
        ("look-alikes", "uniter", "False"),
        ("unknown", "fc", "False"),
        ("non-words", "tuned", "False"),
        ("power", "paper: first", "True"),
    ]
    assert float(found["naming", "base"]["value"]) == 5 / 8
    assert float(found["variety", "base"]["value"]) == 4 / 8
    assert found["variety", "base"]["ci_low"] == ""
    assert (float(found["unknown", "fc"]["value"]), found["unknown", "fc"]["n"]) == (100.0, "8")
    # `blorf` is one caption of `base`; `tuned` has two, and both of its words are shown.
    assert (float(found["non-words", "tuned"]["value"]), found["non-words", "tuned"]["detail"]) == (25.0, "zzz, xyzzy")
    assert "Not in this run: image found by a human caption among 100, by a retriever that no" in page(tmp_path)
    outside, intervals = intervals_outside(tmp_path)
    assert outside == []
    assert intervals >= 8


def page(folder: Path) -> str:
    return (folder / "validity.md").read_text(encoding="utf-8")


def test_real_data_without_scorers_study_and_objects(tmp_path):
    load_script("measure_validity").main(job(tmp_path, []))
    assert {condition for condition, _ in records(tmp_path)} == {"retrieval", "variety", "unknown", "non-words"}
    text = page(tmp_path)
    assert text.count("its images have no annotated objects") == 2
    for condition in ("participants", "strangers", "look-alikes", "naming"):
        assert re.search(rf"- Not in this run: {re.escape(CONDITIONS[condition].text)}\. It needs ", text)


def test_objects_that_no_reference_names_and_nouns_of_the_toy_world(tmp_path):
    load_script("measure_validity").main(job(tmp_path, of(IMAGES, "zebra")))
    assert page(tmp_path).count("no reference names an object of its image") == 2
    toy = job(tmp_path, of(IMAGES, "car"))
    toy.params.toyworld = ["coco"]
    load_script("measure_validity").main(toy)
    # Of the references one in two names a car, of the captions one in eight.
    assert float(records(tmp_path)["naming", "base"]["value"]) == (1 / 8) / (1 / 2)


# --------------------------------------------------------------------------------------------------- the config
TABLE = "results/reporting/validity.csv"


def test_what_the_default_config_measures(planned):
    plan = planned(config_of("config"))
    inputs, params = plan.job("measure_validity").inputs, plan.job("measure_validity").params
    assert (params["corpus"], params["humans"], params["rewarding"]) == ("toy-coco", ["human"], ["toy-clip-a"])
    learned = {name: corpus for name, corpus in params["learned"].items() if "scened" not in name}
    assert learned == {
        "toy-clipcap-coco": "toy-coco", "toy-clipcap-concap": "toy-concap", "toy-fc": "toy-coco",
        "toy-vinvl": "toy-objects-published",
    }  # fmt: skip
    corpora = ("coco", "concap", "objects-published")
    assert inputs["objects"] == [f"results/corpora/toy-{name}/objects.parquet" for name in corpora]
    assert "results/captions/toy-discritune-concap/study.parquet" in inputs["captions"]
    assert not [path for path in inputs["captions"] if "/human/" in path or "/toy-constructed/" in path]
    names = [f"toy-{name}" for name in ("lxmert", "rosita", "uniter", "vilbert")]
    models = ROOT / "resources" / "toyworld" / "models"
    assert params["scorers"] == names
    assert inputs["matching"] == [str(models / name / "matching.parquet") for name in names]
    rewarded = {"toy-discritune-coco": "toy-coco", "toy-discritune-concap": "toy-concap"}
    rewarded |= {
        f"toy-fc-{name}": "toy-coco" for name in ("clip", "lxmert", "questions", "rosita", "uniter", "vilbert")
    }
    assert params["rewarded"] == rewarded
    assert inputs["rewards"] == [f"results/captioners/{name}/rewards.parquet" for name in sorted(rewarded)]
    assert plan.job("collect_rewards").params["trainings"]["toy-discritune-coco"] == {
        "parent": "toy-clipcap-coco", "corpus": "toy-coco", "reward": "discriminative toy-clip-a"
    }  # fmt: skip
    measured = plan.job("measure_rewards", captioner="toy-fc-uniter").params
    assert (measured["batch"], measured["decoding"]) == (40, {"max_tokens": 20, "rules": "transformers"})
    assert inputs["accuracy"] == ["results/study/simulated/accuracy.parquet"]
    assert TABLE in plan.job("collect_cost").reads


def test_a_config_that_does_not_ask_measures_nothing(planned):
    config = config_of("config")
    del config["validity"]
    plan = planned(config)
    assert plan.rules().isdisjoint({"measure_validity", "measure_rewards", "collect_rewards"})
    assert not [path for path in plan.job("collect_cost").reads if "validity" in path or "/rewards" in path]


def of_another_run(folder: Path, section: str, name: str, described: dict) -> dict:
    """The block of a model of another run, which lies in a folder."""
    place = folder / section / name
    place.mkdir(parents=True)
    (place / "config.json").write_text(json.dumps(described))
    return {"run": str(place)}


def test_models_of_another_run_are_judged(tmp_path):
    config = config_of("config")
    config["corpora"]["toy-objects"]["images"]["val"] = 200
    config["corpora"]["toy-objects"]["evaluation_split"] = "val"
    config["evaluations"]["objects"] = {
        "captioners": ["toy-vinvl"], "corpora": ["toy-objects"], "decoding": "oscar"
    }  # fmt: skip
    vinvl = of_another_run(tmp_path, "captioners", "toy-vinvl", {"family": "vinvl", "architecture": {}, "origin": {}})
    inputs = {"regions": "toy-boxes", "tags": "toy-tags", "corpus": "toy-objects"}
    config["captioners"]["toy-vinvl"] = {**vinvl, **inputs}
    for name in ("toy-uniter", "toy-rosita"):
        described = {"family": name.removeprefix("toy-"), "architecture": {}, "matching": {"scale": 1.0}}
        scorer = of_another_run(tmp_path, "scorers", name, described)
        config["scorers"][name] = {**scorer, "regions": "toy-boxes"}
    table = tmp_path / "scorers" / "toy-uniter" / "matching.parquet"
    table.write_bytes(b"")
    job = plan(config, tmp_path / "plan", TABLE).job("measure_validity")
    assert job.params["learned"]["toy-vinvl"] == "toy-objects"
    assert "results/corpora/toy-objects/objects.parquet" in job.inputs["objects"]
    assert "results/captions/toy-vinvl/objects.parquet" in job.inputs["captions"]
    assert job.params["scorers"] == ["toy-lxmert", "toy-uniter", "toy-vilbert"]
    assert job.inputs["matching"][1] == str(table)
    rewarded = {"config": {"objective": {"kind": "reinforce"}}}
    (tmp_path / "captioners" / "toy-vinvl" / "config.json").write_text(
        json.dumps({"family": "vinvl", "architecture": {}, "origin": rewarded})
    )
    job = plan(config, tmp_path / "plan", TABLE).job("measure_validity")
    assert "toy-vinvl" not in job.params["learned"]


def test_trainings_by_a_reward_are_those_that_evaluations_lead_to():
    config = config_of("config")
    config["captioners"]["further"] = {**config["captioners"]["toy-discritune-coco"], "parent": "toy-fc-clip"}
    config["captioners"]["further"]["snapshots"] = [10]
    config["evaluations"]["probing"]["captioners"] = ["toy-fc", "further@10"]
    del config["papers"]["probing"], config["captioners"]["toy-constructed"]
    names = ["further", "toy-discritune-coco", "toy-discritune-concap", "toy-fc-clip", "toy-fc-questions"]
    assert [*Graph(config, ROOT).rewarded_trainings()] == names


def test_a_retriever_that_rewards_as_a_scorer_is_not_independent(planned):
    config = config_of("config")
    config["scorers"]["toy-clip"]["encoder"] = "toy-clip-b"
    config["captioners"]["toy-fc-clip"]["objective"]["reward"] = {
        "kind": "sum",
        "of": [
            {"weight": 1, "reward": {"kind": "scorer", "scorer": "toy-clip"}},
            {"weight": 1, "reward": {"kind": "cider"}},
        ],
    }
    rewarding = planned(config, TABLE).job("measure_validity").params["rewarding"]
    assert rewarding == ["toy-clip-a", "toy-clip-b"]


@pytest.mark.parametrize(
    ("corpus", "sentence"),
    [
        ("toy-cocoa", "validity.corpus is 'toy-cocoa', which is not among the corpora; did you mean 'toy-coco'?"),
        ("toy-study", "validity.corpus is 'toy-study', on which no evaluation has retrievers and a captioner of the"),
        ("toy-scenes", "validity.corpus is 'toy-scenes', on which no evaluation has retrievers and a captioner of the"),
    ],
)
def test_mistakes_in_the_config(corpus, sentence):
    config = config_of("config")
    config["validity"]["corpus"] = corpus
    with pytest.raises(ConfigError, match=re.escape(sentence)):
        checked(config, ROOT)
