"""Polaris, Nebula and LongCap-Arena, in files of the same format with invented captions."""

import pytest
from support.judged_files import read_set, write_corpus, write_hub, write_polaris

from captionlab.corpora.inputs import CorpusError
from captionlab.corpora.readers.huggingface.reader import read as read_hub
from captionlab.corpora.readers.polaris.reader import read as read_polaris

# File of the image, judged caption, references and rating. A reference of the first image is judged, too.
ROWS = [
    ("a1b2.jpg", "a dog; it's brown", ["a brown dog", 'a dog called "Rex"'], 0.75),
    ("c3d4.jpg", "a red bus", ["a bus", "a red, long bus"], 0.0),
    ("a1b2.jpg", "a brown dog", ["a brown dog", "a dog runs"], 1.0),
]
POLARIS = {"reader": "polaris", "seed": 1, "annotations": "polaris_test.csv"}
NEBULA = {"reader": "nebula", "seed": 1, "folder": "nebula", "splits": ["test"]}
LONGCAP = {"reader": "longcap-arena", "seed": 1, "folder": "longcap", "splits": ["dci_test.desc"]}


def references(rows):
    return {name.removesuffix(".jpg"): [*refs] for name, _, refs, _ in rows}


def judged(made):
    """Image, caption and rating of each candidate."""
    ratings = {(row["image_id"], row["caption_index"]): row for row in made["ratings"]}
    assert {row["judge"] for row in made["ratings"]} == {"evaluator"}
    return [
        (row["image_id"], row["caption"], ratings[row["image_id"], row["caption_index"]]["rating"])
        for row in made["candidates"]
    ]


def test_polaris(tmp_path):
    write_polaris(tmp_path, ROWS)
    entries = list(read_polaris({**POLARIS, "images": "images"}, tmp_path))
    assert [(entry.image_id, entry.split, entry.place.path) for entry in entries] == [
        ("a1b2", "test", str(tmp_path / "images" / "a1b2.jpg")), ("c3d4", "test", str(tmp_path / "images/c3d4.jpg")),
    ]  # fmt: skip
    assert [[*entry.captions] for entry in entries] == [
        ["a brown dog", 'a dog called "Rex"', "a dog runs"], ["a bus", "a red, long bus"],
    ]  # fmt: skip
    corpus = write_corpus(tmp_path, {entry.image_id: entry.captions for entry in entries})
    made = read_set(tmp_path, corpus, **POLARIS)
    assert judged(made) == [
        ("a1b2", "a dog; it's brown", 0.75),
        ("a1b2", "a brown dog", 1.0),
        ("c3d4", "a red bus", 0.0),
    ]
    # The judged reference is no reference any more. Nobody published who wrote the captions.
    assert [row["caption"] for row in made["captions"] if row["image_id"] == "a1b2"] == [
        'a dog called "Rex"', "a dog runs",
    ]  # fmt: skip
    assert {row["source"] for row in made["candidates"]} == {None}


def test_nebula_reads_the_splits_that_are_asked_for(tmp_path):
    write_hub(tmp_path / "nebula" / "data" / "test-00000-of-00002.parquet", ROWS[:1])
    write_hub(tmp_path / "nebula" / "data" / "test-00001-of-00002.parquet", ROWS[1:2])
    write_hub(tmp_path / "nebula" / "data" / "valid-00000-of-00001.parquet", [("e5.jpg", "a cat", ["a cat"], 0.5)])
    entries = list(
        read_hub({"reader": "huggingface", "folder": "nebula", "captions": "refs", "image_id": "file_name"}, tmp_path)
    )
    corpus = write_corpus(tmp_path, {entry.image_id: entry.captions for entry in entries})
    made = read_set(tmp_path, corpus, **NEBULA)
    assert judged(made) == [("a1b2.jpg", "a dog; it's brown", 0.75), ("c3d4.jpg", "a red bus", 0.0)]
    both = read_set(tmp_path, corpus, **NEBULA | {"splits": ["test", "valid"]})
    assert judged(both)[2] == ("e5.jpg", "a cat", 0.5)


def test_images_of_longcap_arena_are_of_several_splits(tmp_path):
    """The same image is rated from three perspectives, each of which is a split of its own."""
    for split, score in (("dci_test.desc", 0.625), ("dci_test.rel", 0.25)):
        rows = [(name, caption, refs[:1], score) for name, caption, refs, _ in ROWS[:2]]
        write_hub(tmp_path / "longcap" / "data" / f"{split}-00000-of-00001.parquet", rows, "cand", "score")
    entries = list(
        read_hub({"reader": "huggingface", "folder": "longcap", "captions": "refs", "image_id": "file_name"}, tmp_path)
    )
    assert [entry.split for entry in entries] == ["dci_test.desc"] * 2 + ["dci_test.rel"] * 2
    # As the key `split_in_id` of the corpus makes the ids.
    corpus = write_corpus(tmp_path, {f"{entry.split}/{entry.image_id}": entry.captions for entry in entries})
    made = read_set(tmp_path, corpus, **LONGCAP)
    assert judged(made) == [
        ("dci_test.desc/a1b2.jpg", "a dog; it's brown", 0.625), ("dci_test.desc/c3d4.jpg", "a red bus", 0.625),
    ]  # fmt: skip
    assert judged(read_set(tmp_path, corpus, **LONGCAP | {"splits": ["dci_test.rel"]}))[0][2] == 0.25


def test_files_of_polaris_that_cannot_be_used(tmp_path, answers):
    corpus = write_corpus(tmp_path, references(ROWS))
    name, caption, refs, _ = ROWS[1]
    for given, row, sentence in (
        ("a rating that is a word", (name, caption, refs, "good"), "line 3: score is 'good'"),
        ("a rating that is nan", (name, caption, refs, "nan"), "line 3: score is 'nan'"),
        ("an empty caption", (name, " ", refs, 0.5), "line 3: mt is empty"),
        ("references that are no list", (name, caption, "a bus", 0.5), "line 3: refs is 'a bus'"),
        ("references that are numbers", (name, caption, [1, 2], 0.5), "line 3: refs is '[1, 2]'"),
    ):
        write_polaris(tmp_path, [ROWS[0], row])
        with pytest.raises(CorpusError) as raised:
            read_set(tmp_path, corpus, **POLARIS)
        answers.hold(f"{given}, in a file of Polaris", raised.value, sentence)
    write_polaris(tmp_path, ROWS, ("imgid", "cand", "refs", "score"))
    with pytest.raises(CorpusError) as raised:
        read_set(tmp_path, corpus, **POLARIS)
    answers.hold("a file of Polaris without a column of captions", raised.value, "line 1: the header has no column mt")


def test_parquet_of_judgements_that_cannot_be_used(tmp_path, answers):
    corpus, path = write_corpus(tmp_path, references(ROWS)), tmp_path / "nebula" / "test-00000-of-00001.parquet"
    name, caption, refs, _ = ROWS[1]
    for given, row, sentence in (
        ("a rating that is missing", (name, caption, refs, None), "row 1: human_score is 'None'"),
        ("a caption that is missing", (name, None, refs, 0.5), "row 1: file_name and mt must be texts"),
    ):
        write_hub(path, [ROWS[0], row])
        with pytest.raises(CorpusError) as raised:
            read_set(tmp_path, corpus, **NEBULA)
        answers.hold(f"{given}, in a Parquet file of judgements", raised.value, sentence)
    write_hub(path, ROWS, "cand")
    with pytest.raises(CorpusError) as raised:
        read_set(tmp_path, corpus, **NEBULA)
    answers.hold("a Parquet file of judgements without captions", raised.value, "has no column 'mt'")
    with pytest.raises(CorpusError) as raised:
        read_set(tmp_path, corpus, **NEBULA | {"splits": ["valid"]})
    answers.hold("a split of judgements without a file", raised.value, "no Parquet file of the split 'valid'")
    path.write_bytes(path.read_bytes()[:40])
    with pytest.raises(CorpusError) as raised:
        read_set(tmp_path, corpus, **NEBULA)
    answers.hold("a Parquet file of judgements that is cut off", raised.value, "is no whole Parquet file")
