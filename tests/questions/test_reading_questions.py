"""Questions in files: JSON lines and CaptionQA's form, their image ids, and what is said to bad lines."""

import json
import random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.running import run_script
from support.toy_questions import toy_corpus, toy_images, toy_questions

from captionlab.corpora.inputs import CorpusError
from captionlab.questions.schemas import QUESTIONS
from captionlab.storage.tables import read_table

IMAGES = toy_images("coco", 6)
IDS = [image.image_id for image in IMAGES]
LINE = {
    "image_id": IDS[0],
    "question": "where is this?",
    "options": ["road", "beach"],
    "answer": "beach",
    "kind": "scene",
}
RECORD = {
    "id": IDS[0],
    "questions": [
        {
            "question": "Where is this?",
            "choices": ["road", "beach"],
            "answer": "beach",
            "category": ["Scene-Level", "place"],
            "source": "gpt",
        }
    ],
    "domain": "natural",
    "image_paths": ["a.jpg"],
}


@pytest.fixture
def read(tmp_path):
    """Read a set of questions by the script of its rule; returns the rows of the table."""
    corpus = toy_corpus(tmp_path / "corpus", IMAGES)
    output = tmp_path / "questions.parquet"

    def read(**config):
        wildcards = {"questions": "mine", "corpus": "toy"}
        run_script("read_questions", corpus, [output], wildcards=wildcards, config=config, data=str(tmp_path))
        return read_table(output, QUESTIONS).to_pylist()

    return read


def write_lines(path, *records):
    path.write_text("".join(f"{json.dumps(record)}\n" for record in records), encoding="utf-8")


def test_json_lines(tmp_path, read, caplog):
    free = {"image_id": f"{IDS[1]}.png", "question": " what is it? ", "answer": "a dog"}
    unknown = {**free, "image_id": 17}
    write_lines(tmp_path / "q.jsonl", free, LINE, unknown, {**LINE, "kind": None, "answer": "road"})
    rows = read(reader="jsonl", annotations="q.jsonl")
    assert [tuple(row.values()) for row in rows] == [
        (IDS[0], 0, "scene", "where is this?", ["road", "beach"], "beach"),
        (IDS[0], 1, "other", "where is this?", ["road", "beach"], "road"),
        (IDS[1], 0, "other", "what is it?", [], "a dog"),
    ]
    assert "mine: 1 questions are left out, their 1 images are not in the corpus; the first is '17'" in caplog.messages


def test_rows_do_not_depend_on_the_order_of_images(tmp_path, read):
    lines = [{**LINE, "image_id": image} for image in IDS]
    write_lines(tmp_path / "q.jsonl", *lines)
    rows = read(reader="jsonl", annotations="q.jsonl")
    write_lines(tmp_path / "q.jsonl", *random.Random(0).sample(lines, len(lines)))
    assert read(reader="jsonl", annotations="q.jsonl") == rows
    assert [row["image_id"] for row in rows] == sorted(IDS)


@pytest.mark.parametrize(
    ("line", "named"),
    [
        ("[1]", "no id in a field 'image_id'"),
        ("{", "line 2, column"),
        (json.dumps({**LINE, "question": 3}), "'question' cannot be '3'"),
        (json.dumps({**LINE, "question": "  "}), "'question' is empty"),
        (json.dumps({name: LINE[name] for name in ("image_id", "question")}), "has no field 'answer'"),
        (json.dumps({**LINE, "image_id": 1.5}), "'image_id' is '1.5'"),
        (json.dumps({**LINE, "options": "road"}), "'options' cannot be 'road'"),
        (json.dumps({**LINE, "options": ["beach"]}), "'options' must hold two different answers or more"),
        (json.dumps({**LINE, "options": ["beach", "beach "]}), "'options' must hold two different answers or more"),
        (json.dumps({**LINE, "options": ["beach", 2]}), "'options' must hold texts only"),
        (json.dumps({**LINE, "options": ["road", "field"]}), "the answer 'beach' is none of the options road, field"),
        (json.dumps({**LINE, "kind": 4}), "'kind' cannot be '4'"),
    ],
)
def test_a_bad_line(tmp_path, read, line, named):
    (tmp_path / "q.jsonl").write_text(f"{json.dumps(LINE)}\n{line}\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"q\.jsonl, line 2") as error:
        read(reader="jsonl", annotations="q.jsonl")
    assert named in str(error.value)


def test_questions_about_other_images(tmp_path, read):
    write_lines(tmp_path / "q.jsonl", {**LINE, "image_id": "elsewhere"})
    with pytest.raises(CorpusError, match=r"questions\.mine: no question .* 1 other images, the first is 'elsewhere'"):
        read(reader="jsonl", annotations="q.jsonl")
    (tmp_path / "q.jsonl").write_text("\n")
    with pytest.raises(CorpusError, match=r"questions\.mine: no question"):
        read(reader="jsonl", annotations="q.jsonl")


def test_captionqa(tmp_path, read, caplog):
    (question,) = RECORD["questions"]
    left_out = [{**question, "choices": ["beach"]}, {**question, "answer": "sea"}]
    plain = {**question, "category": "Spatial"}
    write_lines(tmp_path / "a.jsonl", {**RECORD, "questions": [question, *left_out, plain, {**plain, "category": []}]})
    rows = read(reader="captionqa", annotations="a.jsonl")
    assert [row["kind"] for row in rows] == ["Scene-Level", "Spatial", "other"]
    assert {(row["question"], *row["options"], row["answer"]) for row in rows} == {
        ("Where is this?", "road", "beach", "beach")
    }
    assert any("2 questions without the answer among several choices are left out" in said for said in caplog.messages)


def test_captionqa_in_parquet_files_of_domains(tmp_path, read):
    for name, image in zip(("natural", "document"), IDS, strict=False):
        pictures = [{"bytes": b"no picture", "path": None}]
        pq.write_table(
            pa.Table.from_pylist([{**RECORD, "id": image, "images": pictures}]), tmp_path / f"{name}.parquet"
        )
    rows = read(reader="captionqa", annotations=["natural.parquet", "document.parquet"])
    assert [(row["image_id"], row["kind"]) for row in rows] == [(IDS[0], "Scene-Level"), (IDS[1], "Scene-Level")]
    (tmp_path / "natural.parquet").write_bytes(b"PAR1 cut")
    with pytest.raises(CorpusError, match=r"natural\.parquet is no Parquet file with the columns id and questions"):
        read(reader="captionqa", annotations="natural.parquet")


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"id": None}, "no id in a field 'id'"),
        ({"questions": {}}, "'questions' cannot be"),
        ({"questions": [{}]}, r"questions[0] has no field 'question'"),
        (
            {"questions": [{**RECORD["questions"][0], "choices": [1, 2]}]},
            "questions[0]: 'choices' must hold texts only",
        ),
        ({"questions": [{**RECORD["questions"][0], "answer": None}]}, "questions[0]: 'answer' cannot be"),
        ({"questions": [{**RECORD["questions"][0], "category": [7]}]}, "questions[0]: 'category' cannot be"),
    ],
)
def test_a_bad_record_of_captionqa(tmp_path, read, change, named):
    write_lines(tmp_path / "a.jsonl", RECORD, {**RECORD, **change})
    with pytest.raises(CorpusError, match=r"a\.jsonl, line 2") as error:
        read(reader="captionqa", annotations="a.jsonl")
    assert named in str(error.value)


def test_the_toy_world_writes_its_own(read):
    rows = read(reader="toyworld", seed=4)
    assert rows == read(reader="toyworld", seed=4)
    expected = [
        (entry.image_id, entry.question.text, [*entry.question.options], entry.answer)
        for entry in toy_questions(IMAGES, seed=4)
    ]
    assert [(row["image_id"], row["question"], row["options"], row["answer"]) for row in rows] == sorted(
        expected, key=lambda one: one[0]
    )
