"""Foils in files of the published formats, against what is said in them."""

import pytest
from support.foil_files import valse_entry, winoground_example, write_sugarcrepe, write_valse, write_winoground
from support.judged_files import read_set, write_corpus

from captionlab.corpora.inputs import CorpusError
from captionlab.judgements.readers.valse.reader import PIECES
from captionlab.userfiles.reading import GivenError

REFERENCES = {name: [f"{name} as somebody saw it ."] for name in ("v7w_1", "v7w_2", "391895")}


@pytest.fixture
def corpus(tmp_path):
    return write_corpus(tmp_path, REFERENCES)


def pairs(made):
    """The image, caption, foil, votes and category of each pair."""
    texts = {(row["image_id"], row["caption_index"]): row["caption"] for row in made["candidates"]}
    return [
        (row["image_id"], texts[row["image_id"], row["caption_index"]], texts[row["image_id"], row["other_index"]],
         (row["votes"], row["other_votes"]), row["category"], row["tie"])
        for row in made["preferences"]
    ]  # fmt: skip


def test_only_foils_of_valse_that_two_annotators_found_valid_are_read(tmp_path, corpus, caplog):
    caplog.set_level("INFO")
    files = write_valse(
        tmp_path,
        {
            "existence": [
                valse_entry("v7w_1.jpg", "There is a dog.", "There is no dog.", (3, 0)),
                valse_entry("v7w_2.jpg", "There are no cats.", "There are cats.", (2, 1)),
                valse_entry("v7w_2.jpg", "There are no men.", "There are men.", (1, 2)),
                valse_entry("v7w_9.jpg", "There is no image.", "There is one.", (2, 0)),
            ],
            "foil-it": [
                valse_entry("COCO_val2014_000000391895.jpg", "A bus waits.", "A car waits.", (3, 0)),
                valse_entry("COCO_val2014_000000391895.jpg", "A bus leaves.", "A truck leaves.", (0, 3)),
            ],
        },
    )
    made = read_set(tmp_path, corpus, reader="valse", seed=1, **files)
    assert pairs(made) == [
        ("v7w_1", "There is a dog.", "There is no dog.", (3, 0), "existence", None),
        ("v7w_2", "There are no cats.", "There are cats.", (2, 1), "existence", None),
        ("391895", "A bus waits.", "A car waits.", (3, 0), "noun phrases", None),
    ]
    assert made["ratings"] == []
    assert "existence: 3 of 4 foils are valid, the others are left out" in caplog.messages
    assert "noun phrases: 1 of 2 foils are valid, the others are left out" in caplog.messages
    unknown = "mine: 1 judged captions or pairs are left out, their 1 images are not in the corpus; the first is"
    assert any(message.startswith(unknown) for message in caplog.messages)


def test_every_piece_of_valse_has_a_file(tmp_path, corpus):
    assert len(PIECES) == len({*PIECES.values()}) == 11
    files = write_valse(tmp_path, {name: [valse_entry("v7w_1.jpg", f"true {name}", name)] for name in PIECES})
    made = read_set(tmp_path, corpus, reader="valse", seed=1, **files)
    assert [row[4] for row in pairs(made)] == [*PIECES.values()]


def test_hard_negatives_of_sugarcrepe(tmp_path, corpus):
    kinds = {
        "swap_att": [("000000391895.jpg", "A red bus and a blue car. ", "A blue bus and a red car.")],
        "add_obj": [("000000391895.jpg", "A bus waits.", "A bus and a tree wait."), ("v7w_1.jpg", "A dog.", "A cat.")],
    }
    made = read_set(tmp_path, corpus, reader="sugarcrepe", seed=1, **write_sugarcrepe(tmp_path, kinds))
    assert pairs(made) == [
        ("391895", "A red bus and a blue car.", "A blue bus and a red car.", (1, 0), "swap att", None),
        ("391895", "A bus waits.", "A bus and a tree wait.", (1, 0), "add obj", None),
        ("v7w_1", "A dog.", "A cat.", (1, 0), "add obj", None),
    ]


def test_images_of_winoground_are_tied(tmp_path):
    corpus = write_corpus(tmp_path, {f"ex_{example}_img_{image}": [] for example in (0, 7) for image in (0, 1)})
    examples = [
        winoground_example(0, ["a cat on a dog", "a dog on a cat"]),
        winoground_example(7, ["it sees them", "they see it"], "Both"),
        winoground_example(8, ["no image", "image no"]),
    ]
    made = read_set(tmp_path, corpus, reader="winoground", seed=1, **write_winoground(tmp_path, examples))
    assert pairs(made) == [
        ("ex_0_img_0", "a cat on a dog", "a dog on a cat", (1, 0), "Object", "0"),
        ("ex_0_img_1", "a dog on a cat", "a cat on a dog", (1, 0), "Object", "0"),
        ("ex_7_img_0", "it sees them", "they see it", (1, 0), "Both", "7"),
        ("ex_7_img_1", "they see it", "it sees them", (1, 0), "Both", "7"),
    ]


def test_files_of_foils_that_cannot_be_used(tmp_path, corpus, answers):
    good = valse_entry("v7w_1.jpg", "There is a dog.", "There is no dog.")
    without = {key: value for key, value in good.items() if key != "foil"}
    without_caption = {key: value for key, value in winoground_example(0, ["a", "b"]).items() if key != "caption_1"}
    for given, reader, files, sentence in (
        ("a piece with another name", "valse", write_valse(tmp_path, {"my-foils": [good]}), "my-foils.json is not"),
        ("an entry without a foil", "valse", write_valse(tmp_path, {"plurals": [good, without]}), "'plurals_test_1'"),
        ("an entry without votes", "valse", write_valse(tmp_path, {"relations": [{**good, "mturk": {}}]}), "'mturk'"),
        ("a kind of SugarCrepe that is none", "sugarcrepe", write_sugarcrepe(tmp_path, {"swap": []}), "swap.json"),
        (
            "an example without its second caption", "winoground",
            write_winoground(tmp_path, [without_caption]),
            "line 1 has no field 'caption_1'",
        ),
    ):  # fmt: skip
        with pytest.raises(CorpusError) as raised:
            read_set(tmp_path, corpus, reader=reader, seed=1, **files)
        answers.hold(given, raised.value, sentence)
    (tmp_path / "existence.json").write_text("[]")
    with pytest.raises(CorpusError) as raised:
        read_set(tmp_path, corpus, reader="valse", seed=1, annotations=["existence.json"])
    answers.hold("a list of foils", raised.value, "existence.json is no object")
    (tmp_path / "examples.jsonl").write_text("{")
    with pytest.raises(GivenError, match=r"examples\.jsonl, line 1"):
        read_set(tmp_path, corpus, reader="winoground", seed=1, annotations="examples.jsonl")
