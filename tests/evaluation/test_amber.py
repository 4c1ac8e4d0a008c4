"""AMBER's measures, against the formulas of the paper and counts by hand, on annotations in AMBER's format."""

import json
import logging
import random
import sys
from operator import eq

import pytest
from support.running import run_script
from support.word_vectors import install

from captionlab.evaluation.metrics.amber.config import FACTS
from captionlab.evaluation.metrics.amber.files import Annotation, read_annotations, read_relation, read_safe_words
from captionlab.evaluation.metrics.amber.metric import (
    METRICS,
    SCORES,
    judged,
    listed_words,
    nouns_of,
    of_captions,
    results,
    similar_words,
)
from captionlab.evaluation.summary import Job
from captionlab.storage.schemas import GENERATED, TAGGED
from captionlab.storage.tables import read_table, write_table
from captionlab.texts.tagging import TaggerError
from captionlab.userfiles.reading import GivenError

JOB = Job("me", "main", "greedy", {"amber": "test"})
RELATION = {
    "sky": [], "cloud": [], "lake": ["water"], "person": ["people", "man"], "man": ["person"], "dog": [],
    "boat": ["ship"], "TV": ["screen"], "sunglasses": [], "sign": [],
}  # fmt: skip
ANNOTATIONS = [
    {"id": 1, "type": "generative", "truth": ["sky", "lake", "person"], "hallu": ["cloud", "boat"]},
    {"id": 2, "type": "generative", "truth": ["dog", "TV"], "hallu": ["person", "lake"]},
    {"id": 1005, "type": "discriminative-hallucination", "truth": "yes"},
]
SAFE = "sign\n"
# Captions of each image, and the words of nouns that are judged.
CAPTIONS = {
    ("AMBER_1", 0): "Two people in a ship on the water under a clear sky and a cloud",
    ("AMBER_1", 1): "A beautiful view of water",
    ("AMBER_2", 0): "A dog in front of a tv , a sign and a man with sunglasses",
    ("AMBER_2", 1): "Nothing of interest",
}
NOUNS = {"people", "ship", "water", "sky", "cloud", "view", "dog", "front", "tv", "sign", "man", "sunglasses"}


def tags_of(text):
    """A row of TAGGED without the key: nouns are the words in NOUNS."""
    words = text.split()
    return {"words": words, "lemmas": words, "tags": ["NOUN" if word.lower() in NOUNS else "X" for word in words]}


def write_files(folder, annotations=ANNOTATIONS, relation=RELATION):
    texts = {"annotations": json.dumps(annotations), "relation": json.dumps(relation), "safe_words": SAFE}
    paths = {name: folder / f"{name}.{'txt' if name == 'safe_words' else 'json'}" for name in texts}
    for name, path in paths.items():
        path.write_text(texts[name])
    return paths


def scored(folder, captions=CAPTIONS, **vectors):
    """The table of scores of captions by image and index, made by the rule's script."""
    rows = [{"corpus": "amber", "image_id": image, "caption_index": index} for image, index in captions]
    write_table(
        folder / "tags.parquet",
        TAGGED,
        [row | tags_of(text) for row, text in zip(rows, captions.values(), strict=True)],
    )
    nothing = {"log_prob": None, "confidence": None}
    generated = [row | {"caption": text, **nothing} for row, text in zip(rows, captions.values(), strict=True)]
    write_table(folder / "captions.parquet", GENERATED, generated)
    files = write_files(folder)
    inputs = {**files, **{name: folder / f"{name}.parquet" for name in ("captions", "tags")}}
    assert {*inputs} == {"captions", *FACTS.reads, *FACTS.files}
    params = {"module": "captionlab.evaluation.metrics.amber.metric", "people": False, "splits": ["test"]}
    settings = {"amber": {**{name: path.name for name, path in files.items()}, **vectors}}
    params |= {"corpora": ["amber"], "references_per_image": None, "settings": settings}
    run_script("score_captions", inputs, [folder / "amber.parquet"], **params)
    return folder / "amber.parquet"


def by_the_paper(nouns, present, expected, relation):
    """CHAIR, Cover, Hal of a caption by the formulas of the paper, and the share of expected objects that it names.

    The words of each object must be its own.
    """
    stands_for = {word: name for name in relation for word in (name, *relation[name])}
    named = [stands_for[noun] for noun in nouns]
    wrong = 1 - len([name for name in named if name in present]) / len(named) if named else 0
    shares = [len({*named} & {*objects}) / len(objects) if objects else 0 for objects in (present, expected)]
    return {"CHAIR": wrong, "Cover": shares[0], "Hal": float(wrong != 0), "Cog": shares[1]}


def test_formulas_of_the_paper(tmp_path):
    draw, objects = random.Random(5), [f"object{n}" for n in range(12)]
    relation = {name: [f"{name}-{letter}" for letter in "abc"[: draw.randrange(4)]] for name in objects}
    words, rows, oracle = [word for name in objects for word in (name, *relation[name])], [], []
    for image in range(200):
        listed = draw.sample(objects, draw.randrange(8))
        nouns, cut = draw.choices(words, k=draw.randrange(9)), draw.randrange(len(listed) + 1)
        annotation = Annotation(listed[:cut], listed[cut:])
        key = {"corpus": "amber", "image_id": str(image), "caption_index": 0}
        rows.append(key | judged(nouns, annotation, relation, frozenset(), eq))
        oracle.append(by_the_paper(nouns, annotation.present, annotation.expected, relation))
    write_table(tmp_path / "amber.parquet", SCORES, rows)
    assert [one.metric for one in of_captions(str(tmp_path / "amber.parquet"), {})] == [*METRICS]
    for one in of_captions(str(tmp_path / "amber.parquet"), {}):
        wanted = [values[one.metric.removeprefix("AMBER ")] for values in oracle]
        assert one.values.tolist() == pytest.approx(wanted)


def test_captions_counted_by_hand(tmp_path):
    path = scored(tmp_path)
    rows = {(row["image_id"], row["caption_index"]): row for row in read_table(path, SCORES).to_pylist()}
    first, second = rows["AMBER_1", 0], rows["AMBER_2", 0]
    assert first["nouns"] == ["people", "ship", "water", "sky", "cloud"]
    assert first["hallucinated"] == [False, True, False, False, True]
    assert first["covered"] == [True, True, True]
    assert first["imagined"] == [True, True]
    # The sign is always allowed. Sunglasses are listed, and the image has none.
    assert second["nouns"] == ["dog", "tv", "sign", "man", "sunglasses"]
    assert second["hallucinated"] == [False, False, False, True, True]
    assert second["imagined"] == [True, False]
    found = {one.metric: one for one in results(JOB, str(path), 7)}
    assert {name: one.value for name, one in found.items()} == {
        "AMBER CHAIR": pytest.approx(100 * 4 / 11),
        "AMBER Cover": pytest.approx(100 * (3 + 1 + 2 + 0) / (3 + 3 + 2 + 2)),
        "AMBER Hal": pytest.approx(50),
        "AMBER Cog": pytest.approx(100 * 3 / 8),
    }
    assert all(one.images == ("AMBER_1", "AMBER_2") and one.share for one in found.values())


def test_a_lemma_counts_before_the_word():
    row = {"words": ["Men", "glass", "runs"], "lemmas": ["man", "glass", "run"], "tags": ["NOUN", "NOUN", "VERB"]}
    assert nouns_of(row, listed_words({"man": ["glasses"], "run": []})) == ["man"]
    row = {"words": ["Sunglasses"], "lemmas": ["sunglass"], "tags": ["PROPN"]}
    assert nouns_of(row, listed_words({"sunglasses": []})) == ["sunglasses"]


def test_a_word_of_several_objects_stands_for_the_first():
    relation = {"person": ["man"], "man": ["person"], "ship": []}
    columns = judged(["man", "ship"], Annotation(["man", "person", "ship", "ship"], []), relation, frozenset(), eq)
    # The man is an associated word of the person, which comes before the man itself, as in the authors' code.
    assert columns["covered"] == [False, True, True, False]


def test_similar_nouns_match_if_a_model_has_vectors(tmp_path, monkeypatch):
    install(tmp_path / "site", "toy_vectors", {"lake": [1, 0], "sea": [0.9, 0.3], "sky": [0, 1], "pond": [0.7, 0.7]})
    monkeypatch.setattr(sys, "path", [str(tmp_path / "site"), *sys.path])
    match = similar_words("toy_vectors")
    assert match("sea", "lake")
    assert match("ghost", "ghost"), "equal words match even without a vector"
    assert not match("pond", "lake"), "0.71 is not above 0.8"
    relation = {"lake": [], "sea": [], "sky": [], "pond": []}
    images = {"near": Annotation(["sky", "lake"], ["pond"]), "expected": Annotation(["lake"], ["sea", "pond"])}
    near, expected = (judged(["sea"], image, relation, frozenset(), match) for image in images.values())
    assert (near["hallucinated"], near["covered"]) == ([False], [False, True])
    # As in the authors' code, an expected object is imagined even if the noun is similar to an object of the image.
    assert (expected["hallucinated"], expected["imagined"]) == ([False], [True, False])
    write = scored(tmp_path, {("1", 0): "a view"}, vectors="toy_vectors")
    assert read_table(write, SCORES)["nouns"].to_pylist() == [[]]


def test_a_model_without_vectors(answers):
    with pytest.raises(TaggerError) as raised:
        similar_words("en_ewt_sm")
    answers.hold("`amber.vectors: en_ewt_sm`", raised.value, "en_core_web_lg")


def test_images_without_an_entry_are_left_out(tmp_path, caplog, answers):
    with caplog.at_level(logging.WARNING):
        path = scored(tmp_path, {("2", 0): "a dog", ("AMBER_1005", 0): "a dog", ("sea/AMBER_1.jpg", 0): "the sky"})
    assert read_table(path, SCORES)["image_id"].to_pylist() == ["2", "sea/AMBER_1.jpg"]
    assert "amber: 1 of 3 images have no annotation and are left out" in caplog.text
    with pytest.raises(ValueError, match="no captioned image") as raised:
        scored(tmp_path, {("cat", 0): "a cat"})
    answers.hold("annotations of AMBER for images of another corpus", raised.value, "ids are like 1, 2")


GOOD = {"id": 7, "type": "generative", "truth": ["sky"], "hallu": []}
BAD = {
    "no list": ({"1": []}, RELATION, "annotations.json"),
    "a list of words": (["sky"], RELATION, "entry 1"),
    "an entry without `hallu`": ([GOOD, {"id": 8, "type": "generative", "truth": []}], RELATION, "entry 2"),
    "an id twice": ([GOOD, {**GOOD, "id": "7"}], RELATION, "entry 2"),
    "an id that is null": ([{**GOOD, "id": None}], RELATION, "entry 1"),
    "words that are no list": ([{**GOOD, "truth": "sky"}], RELATION, "entry 1 (id 7), `truth`"),
    "a word without relations": ([{**GOOD, "truth": ["unicorn"]}], RELATION, "'unicorn'"),
    "questions alone": ([ANNOTATIONS[-1]], RELATION, "annotations.json"),
    "relations that are a list": ([GOOD], ["sky"], "relation.json"),
    "relations with a number": ([GOOD], {"sky": [1]}, "'sky'"),
}


@pytest.mark.parametrize("what", BAD)
def test_files_with_mistakes(what, tmp_path, answers):
    annotations, relation, named = BAD[what]
    paths = write_files(tmp_path, annotations, relation)
    with pytest.raises(GivenError) as raised:
        read_annotations(paths["annotations"], read_relation(paths["relation"]))
    answers.hold(f"files of AMBER: {what}", raised.value, named)


def test_no_file_of_safe_words():
    assert read_safe_words(None) == frozenset()
