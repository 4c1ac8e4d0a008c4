"""Answers from the files of the web page and of PsychoPy, and what is computed from them, against naive counts."""

import codecs
import csv
import io
from itertools import combinations, product
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binomtest
from support.psychopy_files import wide_text
from support.study_stand_in import TYPES, study_screens

from captionlab.statistics.intervals import RESAMPLES
from captionlab.study.analysis import Accuracies, agreement
from captionlab.study.psychopy import quoted
from captionlab.study.responses import participants, read_answers, simulate
from captionlab.study.stimuli import StudyError, study_name

SCREENS = study_screens(controls=2)
STUDY = study_name(SCREENS)


def chosen_by(block: int, wrong: set[int] = frozenset()) -> list[tuple[int, int]]:
    """(question, place) of a block, the questions in `wrong` answered with the place after the right one."""
    here = sorted((s["question"], s["position"]) for s in SCREENS if s["block"] == block)
    return [(question, place % 10 + 1 if question in wrong else place) for question, place in here]


def web_file(path: Path, participant: str, block: int, answers: list[tuple[int, int]]) -> Path:
    rows = [f"{STUDY},{participant},{block},{question},{place}" for question, place in answers]
    path.write_text("\n".join(["study,participant,block,question,chosen", *rows]) + "\n")
    return path


def psychopy_file(
    path: Path,
    participant: str,
    block: int,
    answers: list[tuple[int, int]],
    encoding: str = "utf-8-sig",
    delimiter: str = ",",
) -> Path:
    """As Pavlovia or a spreadsheet writes it: rows of screens of text, the name of the clicked image in a list."""
    stream = io.StringIO()
    writer = csv.writer(stream, delimiter=delimiter)
    head = ["study", "study_block", "question", "caption", "trials.thisN", "mouse.time", "mouse.clicked_name"]
    writer.writerow([*head, "participant", "block", "date"])
    who = [participant, str(block), "2026-01-01"]
    writer.writerow(["", "", "", "", "", "", "", *who])
    writer.writerow([STUDY, 0, 0, "an example", "", "[1.0]", "['image_3']", *who])
    for question, place in answers:
        writer.writerow([STUDY, f"{block}.0", question, 'über "caption", a comma; and so on', question, "[2.1]",
                         f"['image_{place}']", *who])  # fmt: skip
    writer.writerow([STUDY, block, 99, "stopped here", "", "", "", *who])
    path.write_bytes(stream.getvalue().encode(encoding))
    return path


def test_both_files_are_read_alike(tmp_path):
    wrong = {2, 5}
    web = read_answers([web_file(tmp_path / "a.csv", "anna", 2, chosen_by(2, wrong))], STUDY, SCREENS)
    psychopy = read_answers([psychopy_file(tmp_path / "b.csv", "anna", 2, chosen_by(2, wrong))], STUDY, SCREENS)
    assert [{**row, "source": ""} for row in web] == [{**row, "source": ""} for row in psychopy]
    assert {row["question"] for row in web if not row["correct"]} == wrong
    assert len(web) == 8
    by_question = {s["question"]: s for s in SCREENS if s["block"] == 2}
    for row in web:
        screen = by_question[row["question"]]
        assert (row["chosen"] == screen["target"]) == row["correct"]


def test_captions_with_quotes_and_commas_in_a_file_that_psychopy_wrote(tmp_path):
    """PsychoPy puts quotes around the cell of the caption and does not double the quotes in it."""
    answers = chosen_by(2, {2, 5})
    wanted = read_answers([psychopy_file(tmp_path / "a.csv", "anna, B.", 2, answers)], STUDY, SCREENS)
    names = ("study", "study_block", "question", "caption", "mouse.clicked_name", "participant", "block")
    who = {"participant": "anna, B.", "block": "2"}
    shown = [
        {"study": STUDY, "study_block": 2, "question": question, "caption": quoted('A "big", red dog, running')}
        | {"mouse.clicked_name": [f"image_{place % 10 + 1}", f"image_{place}"]}
        for question, place in answers
    ]
    text = wide_text(names, [who, *({**entry, **who} for entry in shown)])
    (tmp_path / "b.csv").write_text(text, encoding="utf-8-sig")
    assert read_answers([tmp_path / "b.csv"], STUDY, SCREENS) == wanted


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-be", "cp1252"])
@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_files_that_a_spreadsheet_saved_again(tmp_path, encoding, delimiter):
    answers = chosen_by(2, {2, 5})
    wanted = read_answers([web_file(tmp_path / "a.csv", "anna", 2, answers)], STUDY, SCREENS)
    text = (tmp_path / "a.csv").read_text().replace(",", delimiter).replace("\n", f"{delimiter}Köln\r\n")
    mark = codecs.BOM_UTF16_BE if encoding == "utf-16-be" else b""
    (tmp_path / "again.csv").write_bytes(mark + text.encode(encoding))
    assert read_answers([tmp_path / "again.csv"], STUDY, SCREENS) == wanted
    if not mark:
        path = psychopy_file(tmp_path / "b.csv", "anna", 2, answers, encoding, delimiter)
        assert read_answers([path], STUDY, SCREENS) == [{**row, "source": "psychopy"} for row in wanted]


def test_rows_without_a_participant_code_are_left_out_and_counted(tmp_path, caplog):
    anna = web_file(tmp_path / "a.csv", "anna", 1, chosen_by(1))
    wanted = read_answers([anna], STUDY, SCREENS)
    assert caplog.messages == []
    # Somebody tried the study out, an older one, too, and a spreadsheet kept rows that are empty.
    pilot = f"{STUDY},,1,1,3\nstudy-000000000000, ,1,1,3\n,,,,\n"
    anna.write_text(anna.read_text() + pilot)
    tried = psychopy_file(tmp_path / "b.csv", "", 2, chosen_by(2))
    assert read_answers([anna, tried], STUDY, SCREENS) == wanted
    assert caplog.messages == [
        f"{anna}: 3 rows have no participant code and are left out",
        # The example and the screens of the block; a screen without an answer is no row.
        f"{tried}: 9 rows have no participant code and are left out",
    ]


def test_two_controls_missed_exclude(tmp_path):
    controls = [s["question"] for s in SCREENS if s["block"] == 1 and s["role"] == "control"]
    files = [
        web_file(tmp_path / "a.csv", "one-missed", 1, chosen_by(1, {controls[0]})),
        web_file(tmp_path / "b.csv", "two-missed", 1, chosen_by(1, set(controls))),
        web_file(tmp_path / "c.csv", "careful", 1, chosen_by(1, set(range(1, 9)) - set(controls))),
    ]
    answers = read_answers(files, STUDY, SCREENS)
    assert {row["participant"] for row in answers if row["excluded"]} == {"two-missed"}
    rows = {row["participant"]: row for row in participants(answers)}
    assert [rows[name]["controls_missed"] for name in ("one-missed", "two-missed", "careful")] == [1, 2, 0]
    assert [rows[name]["controls"] for name in ("one-missed", "two-missed", "careful")] == [2, 2, 2]
    # Who is excluded does not count, and controls do not count for anybody.
    table = {row["caption_type"]: row for row in Accuracies(answers, seed=0).table()}
    assert {name: table[name]["value"] for name in TYPES} == dict.fromkeys(TYPES, 50.0)
    assert [table[name]["answers"] for name in TYPES] == [4, 4, 4]
    assert [table[name]["participants"] for name in TYPES] == [2, 2, 2]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("study-000000000000,anna,1,1,3", "line 2: the answer belongs to 'study-000000000000'"),
        (f"{STUDY},anna,9,1,3", "line 2: block 9 of the study has no screen 1"),
        (f"{STUDY},anna,1,1,11", "line 2: chosen is 11; a screen has the images 1 to 10"),
        (f"{STUDY},anna,1,1,0", "line 2: chosen is 0"),
        (f"{STUDY},anna,1,one,3", "line 2: question is 'one'; it must be a whole number"),
        (f"{STUDY},anna,1,1,3\n{STUDY},anna,1,1,3", "line 3: the participant 'anna' answered screen 1 of block 1"),
        (f"{STUDY},simulated-001,1,1,3", "'simulated-001' is simulated and must not be read as a person"),
        (f"{STUDY},,1,1,3", "answers.csv: no answer of a participant who has a code"),
        ("", "answers.csv: no answer of a participant who has a code"),
    ],
)  # fmt: skip
def test_bad_answers_are_a_sentence(tmp_path, answers, line, message):
    path = tmp_path / "answers.csv"
    path.write_text(f"study,participant,block,question,chosen\n{line}\n")
    with pytest.raises(StudyError) as error:
        read_answers([path], STUDY, SCREENS)
    answers.hold(line.replace(STUDY, "study") or "the header alone", error.value, message)


@pytest.mark.parametrize(
    ("given", "content", "lacks"),
    [
        ("a table of something else", b"a,b\n1,2\n", "study, participant, block, question, chosen"),
        ("bars between the columns", b"study|participant|block|question|chosen\n", "study, participant, block"),
        ("no participants in a file of the web page", b"study;block;question;chosen\n", "participant;"),
        ("no participants in a file of PsychoPy", b"study,study_block,question,mouse.clicked_name\n", "participant;"),
        ("an empty file", b"", "study, participant, block, question, chosen"),
    ],
)
def test_files_without_the_columns_are_refused(tmp_path, answers, given, content, lacks):
    (tmp_path / "answers.csv").write_bytes(content)
    with pytest.raises(StudyError) as error:
        read_answers([tmp_path / "answers.csv"], STUDY, SCREENS)
    answers.hold(given, error.value, f"answers.csv is no file of answers, it has no column {lacks}")


@pytest.mark.parametrize(
    ("given", "content"),
    [
        ("a spreadsheet's own format", b"PK\x03\x04\x14\x00\x06\x00"),
        ("UTF-16 that was cut", b"\xff\xfes\x00t"),
        ("bytes of no encoding", b"study\x81"),
    ],
)
def test_files_that_are_no_text_are_refused(tmp_path, answers, given, content):
    (tmp_path / "answers.csv").write_bytes(content)
    with pytest.raises(StudyError) as error:
        read_answers([tmp_path / "answers.csv"], STUDY, SCREENS)
    answers.hold(given, error.value, "answers.csv is no text")


def random_answers(people: int, seed: int) -> list[dict]:
    """Answers of participants of different skill to sets of different difficulty, as rows of ANSWERS."""
    generator = np.random.default_rng(seed)
    skill, ease = generator.normal(size=people), generator.normal(size=40)
    rows = []
    for person in range(people):
        for item in range(40):
            name = TYPES[(person + item) % 3]
            chance = 1 / (1 + np.exp(-(skill[person] + ease[item] + {"plain": -1, "tuned": 1, "people": 0}[name])))
            correct = bool(generator.random() < chance)
            chosen = f"{item}-0" if correct else f"{item}-{generator.integers(1, 10)}"
            rows.append(
                {
                    "participant": f"p{person}", "block": 1 + (person % 3), "question": item + 1, "role": "question",
                    "stimulus": f"set-{item}", "caption_type": name, "chosen": chosen, "correct": correct,
                    "excluded": False, "source": "web",
                }
            )  # fmt: skip
    return rows


def test_intervals_resample_participants_and_sets():
    answers = random_answers(12, seed=1)
    accuracies = Accuracies(answers, seed=3)
    # The same samples, drawn and counted answer by answer.
    people, sets = sorted({a["participant"] for a in answers}), sorted({a["stimulus"] for a in answers})
    generator = np.random.default_rng(3)
    of_people = generator.multinomial(12, np.full(12, 1 / 12), size=RESAMPLES)
    of_sets = generator.multinomial(40, np.full(40, 1 / 40), size=RESAMPLES)
    for sample in (0, 7, 1999):
        for name in TYPES:
            right = total = 0
            for a in answers:
                if a["caption_type"] == name:
                    weight = (
                        of_people[sample, people.index(a["participant"])] * of_sets[sample, sets.index(a["stimulus"])]
                    )
                    right += weight * a["correct"]
                    total += weight
            assert accuracies.resampled[name][sample] == pytest.approx(100 * right / total)
    rows = {row["caption_type"]: row for row in accuracies.table()}
    for name in TYPES:
        own = [a["correct"] for a in answers if a["caption_type"] == name]
        assert rows[name]["value"] == pytest.approx(100 * np.mean(own))
        assert rows[name]["ci_low"] < rows[name]["value"] < rows[name]["ci_high"]
        # Answers are not independent: the interval is wider than that of as many coins.
        assert rows[name]["ci_high"] - rows[name]["ci_low"] > 2 * 196 * np.sqrt(
            np.mean(own) * (1 - np.mean(own)) / len(own)
        )


def test_pairs_of_types():
    rows = Accuracies(random_answers(24, seed=2), seed=0).pairwise()
    assert [(row["caption_type"], row["against"]) for row in rows] == list(combinations(sorted(TYPES), 2))
    plain_tuned = next(row for row in rows if (row["caption_type"], row["against"]) == ("plain", "tuned"))
    assert plain_tuned["ci_high"] < 0
    assert plain_tuned["p_value"] < 0.01
    samples = Accuracies(random_answers(24, seed=2), seed=0).resampled
    for row in rows:
        differences = samples[row["caption_type"]] - samples[row["against"]]
        assert (row["ci_low"], row["ci_high"]) == pytest.approx(tuple(np.quantile(differences, (0.025, 0.975))))
        tail = min((differences <= 0).sum(), (differences >= 0).sum())
        assert row["p_value"] == pytest.approx(min(1, 2 * (tail + 1) / (len(differences) + 1)))


def test_an_interval_of_a_difference_leaves_out_0_where_its_p_is_small():
    """Of many studies, small ones too; some of their differences are near the edge."""
    rows = [
        row
        for participants, seed in product((1, 2, 6, 12), range(15))
        for row in Accuracies(random_answers(participants, seed=seed), seed=0).pairwise()
    ]
    assert sum(0.01 < row["p_value"] < 0.2 for row in rows) > 10
    for row in rows:
        # A percentile lies between two samples, so that both edges are apart by the share of one of them.
        if abs(row["p_value"] - 0.05) > 0.002:
            assert (row["ci_low"] > 0 or row["ci_high"] < 0) == (row["p_value"] < 0.05), row


@pytest.mark.parametrize(("participants", "shown"), [(1, False), (5, False), (6, True)])
def test_participants_who_all_agree(participants, shown):
    """Everyone is right with one type and wrong with the other, on the same sets."""
    answers = [
        {"participant": str(person), "block": 1, "question": 2 * number + right, "role": "question"}
        | {"stimulus": f"set{number}", "caption_type": ("plain", "tuned")[right], "chosen": "image", "correct": right}
        | {"excluded": False}
        for person, number, right in product(range(participants), range(8), (False, True))
    ]
    (row,) = Accuracies(answers, seed=0).pairwise()
    assert row["difference"] == -100
    assert row["p_value"] == pytest.approx(min(1, binomtest(0, participants).pvalue))
    assert [row["p_value"] < 0.05, row["ci_high"] < 0] == [shown, shown]


def test_agreement():
    answers = random_answers(9, seed=4)
    rows = {(row["caption_type"], row["measure"]): row for row in agreement(answers, seed=0)}
    agreeing = pairs = 0
    for first, second in combinations(answers, 2):
        if (first["block"], first["question"]) == (second["block"], second["question"]):
            pairs += 1
            agreeing += first["chosen"] == second["chosen"]
    assert rows["all", "pairs"]["value"] == pytest.approx(agreeing / pairs)
    assert rows["all", "kappa"]["value"] == pytest.approx((agreeing / pairs - 0.1) / 0.9)
    assert rows["all", "kappa"]["ci_low"] < rows["all", "kappa"]["value"] < rows["all", "kappa"]["ci_high"]
    assert rows["all", "pairs"]["screens"] == 120
    alone = [answer for answer in answers if answer["participant"] == "p0"]
    assert [row["value"] for row in agreement(alone, seed=0)] == [None] * 8


def test_simulated_participants_follow_the_retriever(tmp_path):
    similarities = np.zeros((len(SCREENS), 10))
    for row, screen in enumerate(SCREENS):
        similarities[row, screen["position"] - 1] = 0.3
    path = tmp_path / "simulated.csv"
    path.write_text(simulate(SCREENS, similarities, 100.0, 4, STUDY, seed=0))
    answers = read_answers([path], STUDY, SCREENS, simulated=True)
    assert len(answers) == 4 * 8
    assert all(row["correct"] for row in answers)
    assert {row["source"] for row in answers} == {"simulated"}
    assert {row["block"] for row in answers} == {1, 2, 3}
    path.write_text(simulate(SCREENS, np.zeros_like(similarities), 100.0, 60, STUDY, seed=0))
    blind = read_answers([path], STUDY, SCREENS, simulated=True)
    assert np.mean([row["correct"] for row in blind]) == pytest.approx(0.1, abs=0.05)
    with pytest.raises(StudyError, match="is simulated and must not"):
        read_answers([path], STUDY, SCREENS)
