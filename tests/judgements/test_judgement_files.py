"""Published judgements, in files of the same format, against what is said in them."""

from collections import Counter
from pathlib import Path

import pytest
from support.judged_files import (
    BY_ID,
    COCO,
    PAIRS,
    SENTENCES,
    TEXTS,
    WRITERS,
    foil_annotations,
    read_set,
    shown_pascal,
    write_composite,
    write_corpus,
    write_flickr8k,
    write_foil,
    write_pascal,
)

from captionlab.corpora.inputs import CorpusError
from captionlab.corpora.readers.pascal_50s.reader import read as read_pascal
from captionlab.userfiles.reading import GivenError

EXPERT = {"reader": "flickr8k-expert", "seed": 1}
CROWD = {"reader": "flickr8k-cf", "seed": 1}
COMPOSITE = {"reader": "composite", "seed": 1}


@pytest.fixture
def flickr8k(tmp_path):
    return write_corpus(tmp_path, TEXTS, {"11_a": "test", "22_b": "train", "33_c": "test"})


def test_experts(tmp_path, flickr8k, caplog):
    lines = [
        ["22_b.jpg", "11_a.jpg#0", 1, 2, 1],
        ["11_a.jpg", "22_b.jpg#1", 3, 3, 4],
        ["11_a.jpg", "11_a.jpg#2", 4, 4, 4],  # one of its references
        ["11_a.jpg", "33_c.jpg#4", 2, 1, 1],
        ["99_z.jpg", "33_c.jpg#4", 2, 1, 1],  # no image of the corpus
    ]
    made = read_set(tmp_path, flickr8k, **EXPERT, **write_flickr8k(tmp_path, BY_ID, lines))
    assert [tuple(row.values()) for row in made["candidates"]] == [
        ("11_a", 0, "A brown dog runs on sand .", "a person, of another image", 3),
        ("11_a", 1, "A white dog runs on a floor .", "a person, of another image", 3),
        ("22_b", 0, "A black dog runs on grass .", "a person, of another image", 3),
    ]
    assert {(r["image_id"], r["caption_index"], r["judge"]): r["rating"] for r in made["ratings"]} == {
        (image, index, f"expert-{n}"): rating
        for image, index, ratings in (("11_a", 0, (3, 3, 4)), ("11_a", 1, (2, 1, 1)), ("22_b", 0, (1, 2, 1)))
        for n, rating in enumerate(ratings, 1)
    }
    assert made["preferences"] == []
    unknown = "their 1 images are not in the corpus; the first is '99_z.jpg'"
    assert caplog.messages == [f"mine: 1 judged captions or pairs are left out, {unknown}"]
    # They are scored as captions of a captioner, on a corpus of the judged images whatever their split was.
    assert [(row["image_id"], row["split"]) for row in made["images"]] == [("11_a", "judged"), ("22_b", "judged")]
    assert {row["corpus"] for row in made["generated"]} == {"mine"}
    assert [tuple(row.values())[1:4] for row in made["generated"]] == [
        tuple(row.values())[:3] for row in made["candidates"]
    ]
    kept = [(row["image_id"], row["caption"]) for row in made["captions"]]
    assert kept == [(image, " ".join(text.split())) for image in ("11_a", "22_b") for text in TEXTS[image]]
    assert [row["image_id"] for row in made["objects"]] == ["11_a", "22_b"]


def test_a_crowd(tmp_path, flickr8k):
    lines = [["33_c.jpg", "11_a.jpg#0", 0.25, 1, 3], ["22_b.jpg", "33_c.jpg#0", 1, 3, 0]]
    lines.append(["33_c.jpg", "33_c.jpg#1", 1, 3, 0])  # one of its references
    made = read_set(tmp_path, flickr8k, **CROWD, **write_flickr8k(tmp_path, BY_ID, lines))
    assert [tuple(row.values()) for row in made["ratings"]] == [
        ("33_c", 0, "crowd", 0.25), ("22_b", 0, "crowd", 1.0), ("33_c", 1, "crowd", 1.0),
    ]  # fmt: skip
    assert [row["source"] for row in made["candidates"]] == [
        "a person, of another image", "a person, of another image", "a person, of the image",
    ]  # fmt: skip
    references = {image: [row["caption"] for row in made["captions"] if row["image_id"] == image] for image in TEXTS}
    words = {image: [" ".join(text.split()) for text in texts] for image, texts in TEXTS.items()}
    # The judgement stays; the caption is no reference of its image any more, for none of the image's judged captions.
    assert references == {"11_a": [], "22_b": words["22_b"], "33_c": [words["33_c"][0], *words["33_c"][2:]]}


def test_composite(tmp_path, flickr8k):
    rows = [
        ("http://images.org/8k/22_b.jpg", ["a brown dog runs on sand", "a dog; it runs", 'the "dog"'], [5, 3, 1]),
        ("http://images.org/8k/11_a.jpg", ["A black dog runs on snow .", "a cat", "a cat"], [4, 2, 2]),
        ("", ["", "", ""], [4.5, 2.5, 1.5]),
        ("", ["", "", ""], ["", "", ""]),
    ]
    made = read_set(tmp_path, flickr8k, **COMPOSITE, **write_composite(tmp_path, rows))
    assert [tuple(row.values()) for row in made["candidates"]] == [
        ("11_a", 0, "A black dog runs on snow .", "a person", 1), ("11_a", 1, "a cat", "a system", 1),
        ("11_a", 2, "a cat", "a system", 1), ("22_b", 0, "A brown dog runs on sand .", "a person", 1),
        ("22_b", 1, "a dog; it runs", "a system", 1), ("22_b", 2, 'the "dog"', "a system", 1),
    ]  # fmt: skip
    ratings = {(row["image_id"], row["caption_index"]): (row["judge"], row["rating"]) for row in made["ratings"]}
    of_images = {"11_a": (4, 2, 2), "22_b": (5, 3, 1)}
    assert ratings == {(image, n): ("worker", r) for image, of in of_images.items() for n, r in enumerate(of)}
    assert made["preferences"] == []
    # The caption by a person is no reference any more, whatever its case and punctuation.
    references = {image: [row["caption"] for row in made["captions"] if row["image_id"] == image] for image in TEXTS}
    words = {image: [" ".join(text.split()) for text in texts] for image, texts in TEXTS.items()}
    assert references == {
        "11_a": [*words["11_a"][:2], *words["11_a"][3:]], "22_b": [words["22_b"][0], *words["22_b"][2:]], "33_c": [],
    }  # fmt: skip


def test_the_fourth_caption_of_composite_is_left_out_and_coco_has_numbers(tmp_path):
    rows = [("http://images.org/COCO_val2014_000000391895.jpg", ["a cat", "a bus", "a dog", "a boat"], [5, 4, 3, 2])]
    made = read_set(tmp_path, write_corpus(tmp_path, COCO), **COMPOSITE, **write_composite(tmp_path, rows))
    assert [(row["image_id"], row["caption"]) for row in made["candidates"]] == [
        ("391895", "a cat"), ("391895", "a bus"), ("391895", "a dog"),
    ]  # fmt: skip
    assert [row["rating"] for row in made["ratings"]] == [5, 4, 3]


def test_files_of_composite_that_cannot_be_used(tmp_path, flickr8k, answers):
    good = ("11_a.jpg", ["a dog", "a cat", "a bus"], [5, 4, 3])
    for given, row, sentence in (
        ("a worker who gives 6", ("22_b.jpg", good[1], [5, 6, 3]), "line 3: Answer.Q2Answer is '6'"),
        ("a worker who gives 2.5", ("22_b.jpg", good[1], [5, 4, 2.5]), "line 3: Answer.Q3Answer is '2.5'"),
        ("a worker who gives a word", ("22_b.jpg", good[1], ["good", 4, 3]), "line 3: Answer.Q1Answer is 'good'"),
        ("a worker who gives nothing", ("22_b.jpg", good[1], ["", 4, 3]), "line 3: Answer.Q1Answer is ''"),
        ("an image without its second caption", ("22_b.jpg", ["a", "", "b"], [5, 4, 3]), "line 3: Input.text2"),
    ):
        with pytest.raises(CorpusError) as raised:
            read_set(tmp_path, flickr8k, **COMPOSITE, **write_composite(tmp_path, [good, row]))
        answers.hold(given, raised.value, sentence)
    file = tmp_path / "composite.csv"
    file.write_text(file.read_text().replace("Input.text2", "Input.caption2"))
    with pytest.raises(CorpusError) as raised:
        read_set(tmp_path, flickr8k, **COMPOSITE, annotations=file.name)
    answers.hold("ratings without a column of captions", raised.value, "line 1: the header has no column Input.text2")
    files = write_composite(tmp_path, [("77.jpg", *good[1:])])
    with pytest.raises(CorpusError) as raised:
        read_set(tmp_path, flickr8k, **COMPOSITE, **files)
    answers.hold("ratings of images of another corpus", raised.value, "the first is '77.jpg'")


def test_references_are_drawn_by_the_seed(tmp_path, flickr8k):
    config = EXPERT | write_flickr8k(tmp_path, BY_ID, [["11_a.jpg", "22_b.jpg#1", 3, 3, 4]])
    drawn = {}
    for seed in range(8):
        made = read_set(tmp_path, flickr8k, **config | {"seed": seed, "references_per_image": 2})
        drawn[seed] = [row["caption"] for row in made["captions"]]
        assert [row["caption_index"] for row in made["captions"]] == [0, 1]
        assert len({*drawn[seed]} & {" ".join(text.split()) for text in TEXTS["11_a"]}) == 2
    assert len({*map(tuple, drawn.values())}) > 1
    again = read_set(tmp_path, flickr8k, **config | {"seed": 3, "references_per_image": 2})
    assert [row["caption"] for row in again["captions"]] == drawn[3]
    assert len(read_set(tmp_path, flickr8k, **config | {"references_per_image": 9})["captions"]) == 5


def test_an_image_whose_every_reference_is_judged(tmp_path, caplog):
    corpus = write_corpus(tmp_path, {"391895": [COCO["391895"][1]], "522418": COCO["522418"]})
    annotations = [a for a in foil_annotations() if a["id"] in (391895 + 1, 522418 + 1)]
    made = read_set(tmp_path, corpus, reader="foil", seed=1, **write_foil(tmp_path, annotations))
    assert {row["image_id"] for row in made["captions"]} == {"522418"}
    assert {row["image_id"] for row in made["candidates"]} == {"391895", "522418"}
    assert caplog.messages == ["mine: 1 images have no reference left, the first is '391895'"]


def test_foils(tmp_path):
    corpus, annotations = write_corpus(tmp_path, COCO), foil_annotations()
    files, pairs = write_foil(tmp_path, annotations), set()
    known = {(a["image_id"], a["id"], a["foil"], a["caption"]) for a in annotations}
    for seed in range(12):
        made = read_set(tmp_path, corpus, reader="foil", seed=seed, **files)
        texts = {(row["image_id"], row["caption_index"]): row["caption"] for row in made["candidates"]}
        assert [(row["votes"], row["other_votes"], row["category"]) for row in made["preferences"]] == [
            (1, 0, None)
        ] * 2
        for row in made["preferences"]:
            image = row["image_id"]
            true, foil = (texts[image, row[index]] for index in ("caption_index", "other_index"))
            (number,) = (a["id"] for a in annotations if a["caption"] == true and not a["foil"])
            assert (int(image), number, True, foil) in known
            references = [r["caption"] for r in made["captions"] if r["image_id"] == image]
            assert references == [text for text in COCO[image] if text != true]
            pairs.add((image, true, foil))
        assert made["ratings"] == []
    assert len(pairs) > 4  # of the four of each image


def test_pascal(tmp_path):
    shown = shown_pascal()
    files = write_pascal(tmp_path, PAIRS, WRITERS, shown)
    entries = list(read_pascal({**files, "images": "VOC"}, tmp_path))
    assert [entry.image_id for entry in entries] == [*SENTENCES]
    assert [entry.place.path for entry in entries] == [str(tmp_path / "VOC" / f"{image}.jpg") for image in SENTENCES]
    assert [{*entry.captions} <= {*SENTENCES[entry.image_id]} for entry in entries] == [True, True]
    assert [len(entry.captions) for entry in entries] == [len({*entry.captions}) for entry in entries]
    page = (Path(__file__).parents[2] / "docs" / "data.md").read_text(encoding="utf-8")
    assert f"| `pascal-50s` | file name without ending | `{entries[0].image_id}` of `{PAIRS[0][0]}` |" in page
    corpus = write_corpus(tmp_path, {entry.image_id: entry.captions for entry in entries})
    made = read_set(tmp_path, corpus, reader="pascal-50s", seed=1, references_per_image=5, **files)
    assert [row["category"] for row in made["preferences"]] == ["HC", "HI", "HM", "MM"]
    assert [row["judgements"] for row in made["candidates"]] == [1] * 8
    texts = {(row["image_id"], row["caption_index"]): row["caption"] for row in made["candidates"]}
    for row, (name, first, second) in zip(made["preferences"], PAIRS, strict=True):
        image = name.removesuffix(".jpg")
        chosen = Counter(a if c == 1 else b for _, a, b, c in shown if {a, b} == {first, second})
        assert (texts[image, row["caption_index"]], texts[image, row["other_index"]]) == (first, second)
        assert (row["votes"], row["other_votes"]) == (chosen[first], chosen[second])
        assert row["votes"] + row["other_votes"] == 48
    for image, sentences in SENTENCES.items():
        references = [row["caption"] for row in made["captions"] if row["image_id"] == image]
        assert len({*references} & {*sentences} - {text for (of, _), text in texts.items() if of == image}) == 5


def test_lines_that_cannot_be_used(tmp_path, flickr8k, answers):
    good = ["22_b.jpg", "11_a.jpg#0", 1, 2, 1]
    lines = {
        "the caption 11_a.jpg#7": (EXPERT, ["22_b.jpg", "11_a.jpg#7", 1, 2, 1], "there is no caption '11_a.jpg#7'"),
        "an expert who gives 5": (EXPERT, ["22_b.jpg", "11_a.jpg#0", 1, 5, 1], "line 2: 5 is no judgement"),
        "an expert who gives nan": (EXPERT, ["22_b.jpg", "11_a.jpg#0", 1, "nan", 1], "nan is no judgement"),
        "a line with two numbers": (EXPERT, ["22_b.jpg", "11_a.jpg#0", 1, 2], "line 2: expected an image file"),
        "a line with a word": (EXPERT, ["22_b.jpg", "11_a.jpg#0", 1, "two", 1], "line 2: expected an image file"),
        "an empty line": (EXPERT, [], "line 2: expected an image file"),
        "a share above 1": (CROWD, ["22_b.jpg", "11_a.jpg#0", 1.5, 3, 0], "line 2: expected the share of yes"),
        "a caption that nobody judged": (
            CROWD,
            ["22_b.jpg", "11_a.jpg#0", 0, 0, 0],
            "line 2: expected the share of yes",
        ),
    }
    for given, (config, line, sentence) in lines.items():
        first = good if config is EXPERT else ["22_b.jpg", "11_a.jpg#0", 0.5, 1, 1]
        files = write_flickr8k(tmp_path, BY_ID, [first, line])
        with pytest.raises(CorpusError) as raised:
            read_set(tmp_path, flickr8k, **config, **files)
        answers.hold(given, raised.value, sentence)
        assert not (tmp_path / "made").exists()
    files = write_flickr8k(tmp_path, BY_ID, [good])
    (tmp_path / "Flickr8k.token.txt").write_text("11_a.jpg#0 A dog\n")
    with pytest.raises(CorpusError) as raised:
        read_set(tmp_path, flickr8k, **EXPERT, **files)
    answers.hold("a caption file with spaces for tabs", raised.value, "line 1: expected `file#n`")


def test_judgements_of_another_corpus(tmp_path, flickr8k, answers):
    config = EXPERT | write_flickr8k(
        tmp_path, BY_ID, [["77.jpg", "11_a.jpg#0", 1, 2, 1], ["78.jpg", "11_a.jpg#0", 1, 1, 1]]
    )
    with pytest.raises(CorpusError) as raised:
        read_set(tmp_path, flickr8k, **config)
    answers.hold("judgements of images of another corpus", raised.value, "the first is '77.jpg'")


def test_foils_that_cannot_be_used(tmp_path, answers):
    corpus, (true, foil, *_) = write_corpus(tmp_path, COCO), foil_annotations()
    for given, annotations, sentence in (
        ("a foil without its true caption", [foil], "1 foils have no true caption"),
        ("two true captions of one id", [true, foil, {**true, "caption": "a bird ."}], "annotations[2]: caption"),
        ("a record that does not say whether it is a foil", [{**true, "foil": "no"}], "'foil' cannot be 'no'"),
        ("a record without a caption", [{"id": 1, "image_id": 2}], "has no field 'caption'"),
    ):
        with pytest.raises(CorpusError) as raised:
            read_set(tmp_path, corpus, reader="foil", seed=1, **write_foil(tmp_path, annotations))
        answers.hold(given, raised.value, sentence)
    (tmp_path / "foil.json").write_text('{"annotations": [')
    with pytest.raises(GivenError, match=r"foil\.json, line 1"):
        read_set(tmp_path, corpus, reader="foil", seed=1, annotations="foil.json")


def test_mat_files_that_cannot_be_used(tmp_path, answers):
    shown, corpus = shown_pascal(), write_corpus(tmp_path, SENTENCES)
    undecided = [*shown[:50], (*shown[50][:3], 0), *shown[51:]]
    for given, files, sentence in (
        ("47 choices of the last pair", (PAIRS, WRITERS, shown[:-1]), "has 191 rows; 4 pairs"),
        ("a choice of 0", (PAIRS, WRITERS, undecided), "row 51 of triplets chose 0"),
        ("captions of another pair", (PAIRS, WRITERS, [shown[48], *shown[1:]]), "row 1 of triplets shows"),
        ("writers of three pairs", (PAIRS, WRITERS[:3], shown), "new_data has 3 rows"),
        ("an unknown writer", (PAIRS, [(6, 6), (6, 9), *WRITERS[2:]], shown), "row 2 of new_data is [6, 9]"),
        ("a pair of one caption", ([pair[:2] for pair in PAIRS], WRITERS, shown), "structure array with 3 fields"),
    ):
        named = write_pascal(tmp_path, *files)
        with pytest.raises(CorpusError) as raised:
            read_set(tmp_path, corpus, reader="pascal-50s", seed=1, **named)
        answers.hold(given, raised.value, sentence)
    swapped_files = {"annotations": "pair_pascal.mat", "pairs": "consensus_pascal.mat"}
    with pytest.raises(CorpusError) as raised:
        read_set(tmp_path, corpus, reader="pascal-50s", seed=1, **swapped_files)
    answers.hold(
        "each of the two for the other", raised.value, "has no variable 'triplets'; it has new_input, new_data"
    )
    (tmp_path / "pair_pascal.mat").write_text(
        "not a matrix, whatever its name may say, and longer than a header is; " * 4
    )
    with pytest.raises(CorpusError) as raised:
        read_set(tmp_path, corpus, reader="pascal-50s", seed=1, **named)
    answers.hold("a text named .mat", raised.value, "pair_pascal.mat is no MAT-file")
