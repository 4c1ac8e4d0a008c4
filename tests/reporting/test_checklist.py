"""The page for reviewers: every question of both checklists, answered or not, and values counted by hand."""

import re
from dataclasses import replace

from support.reporting_run import PROVENANCE

from captionlab.reporting.documents.checklist import checklist_table
from captionlab.reporting.documents.checklist_answers import Known, questions
from captionlab.reporting.documents.facts import Counts
from captionlab.reporting.tables.formats.html import html
from captionlab.reporting.tables.formats.markdown import markdown

ACL = {"A1", "A2", "A3", *(f"B{n}" for n in range(1, 7)), *(f"C{n}" for n in range(1, 5)), "E1"}
ACL |= {f"D{n}" for n in range(1, 6)}
SOFTWARE = {"repository-code": "https://example.org", "version": "1", "license": "MIT"}
NOTHING = Known(
    models=[], parameters=[], validated={}, seeds={}, corpora={}, counts={}, costs=[], training_rules=["train"],
    comparisons=[], evaluations={}, decodings={}, metrics={}, searches={}, validity=[], claims=[], papers={},
    participants={}, excluded_images=None, judgements={}, software=SOFTWARE, run={**PROVENANCE, "toy": False},
)  # fmt: skip


def model(name, job, trainings=(), snapshot_of=None):
    return {
        "snapshot_of": snapshot_of,
        "section": "captioners", "name": name, "family": "clipcap", "job": job, "trainings": [*trainings],
        "sources": [{"what": "<i>weights", "licence": "MIT", "repository": None}],
    }  # fmt: skip


def job(rule, seconds, device="CPU"):
    return {
        "rule": rule, "device": device, "seconds": seconds, "cpu_seconds": None, "gpu_seconds": seconds / 2,
        "memory_mb": None, "gpu_memory_mb": 3.0,
    }  # fmt: skip


def of_participant(name, excluded):
    return {"participant": name, "excluded": excluded}


FULL = replace(
    NOTHING,
    models=[model("a", "train/a", ["a", "a-2"]), model("a-2", "train/a-2", ["a", "a-2"]), model("b", None)],
    parameters=[1000, 1000, 25],
    seeds={"captioners/a": 1, "captioners/a-2": 2},
    corpora={"coco": {"toy": True, "sources": []}},
    counts={"coco": Counts({"train": 1000}, {"train": 5000}, {"broken": 2, "duplicate": 1})},
    costs=[job("train", 3600.0), job("other", 60.0), job("other", 1.0, None)],
    participants={"simulated": [of_participant("x", False), of_participant("x", False), of_participant("y", True)]},
    judgements={"made": True},
    run={**PROVENANCE, "toy": True},
)


def answers(known):
    return {one.name: one for one in questions(known)}


def text(known, name):
    return [answer.line() for answer in answers(known)[name].answers]


def test_every_question_of_both_checklists_is_there_with_an_answer_or_a_reason():
    for known in (NOTHING, FULL):
        found = [*questions(known)]
        numbers = {n for one in found for n in re.findall(r"\w+", f"{one.acl} {one.neurips}")}
        assert numbers == ACL | {str(n) for n in range(1, 17)}
        assert all(one.answers and all(answer.text for answer in one.answers) for one in found)
        assert all(one.where == "" for one in found if not one.answered)


def test_values_by_hand():
    assert text(FULL, "size of captioners") == [
        "a: 1,000 (clipcap, trained here)", "a-2: 1,000 (clipcap, trained here)", "b: 25 (clipcap, imported)",
    ]  # fmt: skip
    assert text(FULL, "trainings") == ["a: 2 trainings"]
    assert text(FULL, "seeds")[:2] == ["seed 1: 1 training", "seed 2: 1 training"]
    assert text(FULL, "device hours") == [
        "all jobs: 1:01:01 of jobs, 0:00:00 of processors, 0:30:30 of GPU",
        "trainings of models among them: 1:00:00 of jobs, 0:00:00 of processors, 0:30:00 of GPU",
    ]
    assert text(FULL, "infrastructure")[:2] == ["CPU: 2 jobs", "unknown device: 1 jobs"]
    assert text(FULL, "statistics") == ["coco: train 1,000 images, 5,000 captions"]
    assert text(FULL, "left out") == ["coco: 2 broken, 1 duplicate"]
    assert text(FULL, "licences of weights") == ["b: <i>weights: MIT"]


def test_a_snapshot_is_a_model_and_no_training():
    known = replace(FULL, models=[*FULL.models, model("c", "train/c"), model("c@2", "train/c", snapshot_of="c")])
    known = replace(known, parameters=[*FULL.parameters, 9, 9])
    assert "c@2: 9 (clipcap, trained here)" in text(known, "size of captioners")
    assert text(known, "trainings") == ["a: 2 trainings", "1 training each: c"]
    assert text(known, "validation") == ["3 trainings without validation: the last weights count"]


def test_settings_of_the_neural_probe():
    settings = [{"rank": 2, "hidden": [16], "alpha": 1.0}, {"rank": 1, "hidden": [16, 16], "alpha": 0.1}]
    searched = [{**row, "macro_f1": f1} for row, f1 in zip(settings, (0.5, 0.75), strict=True)]
    published = [{**settings[0], "rank": 1, "macro_f1": None}]
    assert text(replace(FULL, searches={"a": searched, "b": published}), "search")[1:3] == [
        "neural probe of a: 2 settings tried by macro F1 in a cross-validation on training images (hidden layers [16], "
        "alpha 1; hidden layers [16, 16], alpha 0.1); chosen hidden layers [16, 16], alpha 0.1, macro F1 0.750",
        "neural probe of b: none: hidden layers [16], alpha 1, as in Cafagna et al. 2022, appendix D",
    ]


def test_simulated_people_are_called_that():
    first, judges, images = text(FULL, "participants")
    assert first.startswith("simulated: 2 simulated participants, who are no people; 1 of them left out")
    assert judges == "made: simulated judges, who are no people"
    assert images.startswith("images left out: none")
    assert "simulated" in text(FULL, "payment")[0]
    assert text(replace(FULL, judgements={"real": False}), "payment") == ["Not known to a run; the authors say it."]


def test_the_table_has_a_row_for_each_question_and_escapes_texts():
    table = checklist_table(questions(FULL), PROVENANCE)
    asked = [*questions(FULL)]
    assert sum(len(block.rows) for block in table.blocks) == len(asked)
    assert len(table.records) == sum(len(one.answers) for one in asked)
    assert f"{sum(one.answered for one in asked)} of {len(asked)} questions" in table.description
    assert "<i>" not in html(table) + markdown(table)
