"""Judges of the toy world, who know what an image shows, against what is said in captions."""

import numpy as np
import pytest
from support.judged_files import MADE, read_set

from captionlab.corpora.inputs import CorpusError
from captionlab.corpora.toyworld.lexicon import NOUNS
from captionlab.corpora.toyworld.render import render, write_corpus
from captionlab.judgements.readers.simulated.reader import truth
from captionlab.storage.tables import read_table

CONFIG = {"reader": "simulated", "split": "test", "images": 30, "seed": 1}
SHOWN = [
    {"label": "dog", "attributes": ["brown", "small"]},
    {"label": "dog", "attributes": ["brown", "small"]},
    {"label": "man", "attributes": ["red", "large"]},
]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    folder = tmp_path_factory.mktemp("toy")
    tables = ("images", "captions", "objects", "scene_captions", "rejects")
    files = {table: folder / f"{table}.parquet" for table in tables}
    write_corpus(render("coco", 2, {"train": 10, "test": 40}), files)
    return {table: files[table] for table in ("images", "captions", "objects")}


@pytest.mark.parametrize(
    ("caption", "true", "said"),
    [
        ("two brown dogs and a man in a red shirt.", 4, 4),  # dogs, brown, a man, in red
        ("a man wearing a blue shirt with a small dog.", 2, 3),
        ("a person next to a black dog.", 2, 3),  # a person is a man or a woman
        ("three red cars.", 0, 2),
        ("a dog, a cat and a man.", 2, 3),
        ("a red dog.", 1, 2),  # the man is red
        ("a hotdog.", 0, 0),
        ("a sunny day.", 0, 0),
    ],
)
def test_what_a_caption_says_is_true_or_not(caption, true, said):
    assert truth(caption, SHOWN) == (true / said if said else 0)


def named(caption: str) -> set[str]:
    """The classes one of whose names is in a caption, and that no longer name there covers."""
    words = f" {caption.rstrip('.').replace(',', '')} "
    found = [
        (name, label)
        for label, nouns in NOUNS.items()
        for noun in nouns
        for name in (noun.singular, noun.plural)
        if f" {name} " in words
    ]
    return {
        label for name, label in found if not any(name != other and f" {name} " in f" {other} " for other, _ in found)
    }


def test_captions_that_are_true_in_part(corpus, tmp_path):
    made = read_set(tmp_path, corpus, **CONFIG)
    texts: dict[str, list[str]] = {}
    for row in made["candidates"]:
        texts.setdefault(row["image_id"], []).append(row["caption"])
    assert {len(of_image) for of_image in texts.values()} == {4}
    assert len(texts) == 30
    references: dict[str, list[str]] = {}
    for row in read_table(corpus["captions"], MADE["captions"]).to_pylist():
        references.setdefault(row["image_id"], []).append(row["caption"])
    shown: dict[str, set[str]] = {}
    for row in read_table(corpus["objects"], MADE["objects"]).to_pylist():
        shown.setdefault(row["image_id"], set()).add(row["label"])
    for image, (own, alike, other, replaced) in texts.items():
        assert own in references[image]
        assert own not in [row["caption"] for row in made["captions"] if row["image_id"] == image]
        sources = [
            [of for of, captions in references.items() if text in captions and of != image] for text in (alike, other)
        ]
        assert all(sources)
        assert any(shown[of] & shown[image] for of in sources[0])
        assert len(set(own.split()) ^ set(replaced.split())) >= 2
        assert any(not {label} & shown[image] for label in named(replaced))
    assert {row["split"] for row in made["images"]} == {"judged"}
    assert len(made["captions"]) == sum(len({*references[image]} - {*texts[image]}) for image in texts)


def test_judges_agree_with_the_truth_and_not_wholly_with_each_other(corpus, tmp_path):
    made = read_set(tmp_path, corpus, **CONFIG)
    assert {row["judge"] for row in made["ratings"]} == {"simulated-1", "simulated-2", "simulated-3"}
    assert {row["rating"] for row in made["ratings"]} == {1.0, 2.0, 3.0, 4.0}
    ratings = np.array([row["rating"] for row in made["ratings"]]).reshape(-1, 4, 3)
    own, alike, other, replaced = ratings.mean(axis=(0, 2))
    assert own > replaced > other
    assert own > alike > other
    objects: dict[str, list[dict]] = {}
    for row in made["objects"]:
        objects.setdefault(row["image_id"], []).append(row)
    told = [1 + 3 * truth(row["caption"], objects[row["image_id"]]) for row in made["candidates"]]
    errors = ratings.reshape(-1, 3) - np.array(told)[:, None]
    assert (np.abs(errors).mean(axis=0) < 0.6).all()
    assert 0 < (ratings[..., 0] != ratings[..., 1]).mean() < 0.5


def test_the_seed_draws_images_captions_and_ratings(corpus, tmp_path):
    made = {seed: read_set(tmp_path / str(seed), corpus, **CONFIG | {"seed": seed}) for seed in (1, 2)}
    again = read_set(tmp_path / "again", corpus, **CONFIG)
    assert again == made[1]
    assert made[2]["candidates"] != made[1]["candidates"]


def test_all_images_of_a_split_at_most(corpus, tmp_path):
    made = read_set(tmp_path, corpus, **CONFIG | {"images": 1000})
    assert len(made["images"]) == 40


def test_a_split_that_is_not_there(corpus, tmp_path, answers):
    with pytest.raises(CorpusError) as raised:
        read_set(tmp_path, corpus, **CONFIG | {"split": "val"})
    answers.hold("`split: val` of a corpus without it", raised.value, "only 0 images of the split 'val'")
