"""Foils of the toy world: the caption is true of the objects of its image, and the foil is not."""

import re
from collections import Counter

import pytest
from support.judged_files import read_set, write_corpus

from captionlab.corpora.inputs import CorpusError
from captionlab.corpora.toyworld.lexicon import NOUNS
from captionlab.corpora.toyworld.render import render
from captionlab.corpora.toyworld.render import write_corpus as write_toy
from captionlab.corpora.toyworld.statements import statements

CONFIG = {"reader": "toyworld-foils", "split": "test", "images": 60, "seed": 1}
LABELS = {nouns[0].singular: label for label, nouns in NOUNS.items()}
SIDE = re.compile(r"an? (.+) to the (left|right) of an? (.+)\.")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("toy")
    files = {
        name: folder / f"{name}.parquet" for name in ("images", "captions", "objects", "scene_captions", "rejects")
    }
    toys = list(render("coco", 2, {"train": 10, "test": 80}))
    write_toy(toys, files)
    corpus = {name: files[name] for name in ("images", "captions", "objects")}
    return read_set(folder, corpus, **CONFIG), {toy.image_id: toy for toy in toys}


def pairs(made):
    texts = {(row["image_id"], row["caption_index"]): row["caption"] for row in made["candidates"]}
    for row in made["preferences"]:
        image = row["image_id"]
        yield row["category"], image, texts[image, row["caption_index"]], texts[image, row["other_index"]]


def holds(piece, caption, toy):
    """Whether a caption is true of the things of a toy picture, read anew from the words."""
    counts = Counter(label for label, _, _ in toy.objects)
    if piece == "existence":
        (noun,) = re.findall(r"there is (?:an?|no) (.+) in this picture\.", caption)
        return (counts[LABELS[noun]] == 0) == (" no " in caption)
    if piece == "relations":
        first, side, second = SIDE.fullmatch(caption).groups()
        centres = {
            thing.label: thing.centre[0]
            for thing in toy.picture.things
            if thing.label in (LABELS[first], LABELS[second])
        }
        return (centres[LABELS[first]] < centres[LABELS[second]]) == (side == "left")
    said = statements(caption)
    if piece == "noun phrases":
        return all(counts[label] > 0 for label in said.counts)
    return all({counts[label]} == numbers for label, numbers in said.counts.items()) and bool(said.counts)


def test_captions_are_true_and_foils_are_not(made):
    tables, toys = made
    found = Counter()
    for piece, image, caption, foil in pairs(tables):
        assert toys[image].split == "test"
        assert holds(piece, caption, toys[image]), (piece, caption, toys[image].objects)
        assert not holds(piece, foil, toys[image]), (piece, foil, toys[image].objects)
        found[piece] += 1
    assert found.keys() == {"existence", "plurality", "counting, small numbers", "relations", "noun phrases"}
    assert found["plurality"] == found["noun phrases"] == 60
    assert min(found.values()) > 20


def test_each_piece_goes_both_ways(made):
    said = [(piece, caption) for piece, _, caption, _ in pairs(made[0])]
    for piece, words in (
        ("existence", (" no ", " a")), ("plurality", ("there is", "there are")), ("relations", ("left", "right")),
        ("counting, small numbers", ("two", "three")),
    ):  # fmt: skip
        captions = [caption for one, caption in said if one == piece]
        assert all(sum(word in caption for caption in captions) >= 5 for word in words), piece


def test_a_corpus_without_objects_of_the_toy_world(tmp_path, answers):
    corpus = write_corpus(tmp_path, {"a_bus": ["a bus ."]})
    with pytest.raises(CorpusError) as raised:
        read_set(tmp_path, corpus, **CONFIG)
    answers.hold("foils of a corpus whose objects are others", raised.value, "no image of the split 'test'")
